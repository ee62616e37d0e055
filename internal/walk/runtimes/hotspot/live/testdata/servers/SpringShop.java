// SPDX-License-Identifier: Apache-2.0

package shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ApplicationListener;
import org.springframework.boot.web.server.context.WebServerInitializedEvent;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

/** The shop on Spring Boot with spring.threads.virtual.enabled: each request has a virtual thread. */
@SpringBootApplication
@RestController
public class SpringShop implements ApplicationListener<WebServerInitializedEvent> {
    static String address;

    @GetMapping("/{name}")
    public String get(@PathVariable("name") String name) throws InterruptedException { return Shop.answer("/" + name); }

    @Override
    public void onApplicationEvent(WebServerInitializedEvent event) {
        RestClient client = RestClient.create("http://" + address);
        Shop.ready(event.getWebServer().getPort(), () -> client.get().uri("/price").retrieve().body(String.class));
    }

    public static void main(String[] args) {
        address = args[0];
        SpringApplication.run(SpringShop.class, "--spring.threads.virtual.enabled=true", "--server.port=0",
            "--server.address=127.0.0.1", "--spring.main.banner-mode=off", "--logging.level.root=ERROR");
    }
}
