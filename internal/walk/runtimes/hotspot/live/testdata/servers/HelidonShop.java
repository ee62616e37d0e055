// SPDX-License-Identifier: Apache-2.0

package shop;

import io.helidon.webclient.api.WebClient;
import io.helidon.webserver.WebServer;
import java.time.Duration;

/** The shop on Helidon SE: each connection has a virtual thread. Argument: the upstream's address. */
public final class HelidonShop {
    public static void main(String[] args) {
        // without it requests end after 30 s
        WebClient client = WebClient.builder().baseUri("http://" + args[0]).readTimeout(Duration.ofHours(1)).build();
        WebServer server = WebServer.builder().host("127.0.0.1").port(0)
            .routing(r -> r.get("/{name}", (request, response) -> response.send(Shop.answer(request.path().path()))))
            .build().start();
        Shop.ready(server.port(), () -> client.get("/price").requestEntity(String.class));
    }
}
