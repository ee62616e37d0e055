// SPDX-License-Identifier: Apache-2.0

package shop;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.ReentrantLock;

/** What the requests of a shop do: each waits in a known way. */
public final class Shop {
    /** The client of the server's framework. */
    public interface Upstream { String ask(); }

    static final ReentrantLock STOCK = new ReentrantLock();
    static final Object LEDGER = new Object();
    static final Map<String, Integer> INSIDE = new ConcurrentSkipListMap<>();
    static Upstream upstream;

    static String pay() {
        STOCK.lock();
        try {
            INSIDE.merge("/pay", 1, Integer::sum);
            return upstream.ask();
        } finally {
            STOCK.unlock();
        }
    }

    static String order() {
        STOCK.lock();
        try {
            return "ordered";
        } finally {
            STOCK.unlock();
        }
    }

    static String price() { return upstream.ask(); }

    static String report() throws InterruptedException {
        Thread.sleep(Duration.ofHours(1));
        return "reported";
    }

    static String audit() throws InterruptedException {
        synchronized (LEDGER) {
            LEDGER.wait(1); // the monitor then names its owner
            INSIDE.merge("/audit", 1, Integer::sum); // from here on it keeps the monitor
            Thread.sleep(Duration.ofHours(1));
        }
        return "audited";
    }

    static String book() {
        synchronized (LEDGER) {
            return "booked";
        }
    }

    public static String answer(String path) throws InterruptedException {
        if (path.equals("/account")) return account();
        if (!path.equals("/pay") && !path.equals("/audit")) INSIDE.merge(path, 1, Integer::sum);
        switch (path) {
        case "/pay": return pay();
        case "/order": return order();
        case "/price": return price();
        case "/report": return report();
        case "/audit": return audit();
        case "/book": return book();
        default: return "?";
        }
    }

    /** The requests that are inside of each handler, or have been. */
    static String account() {
        StringBuilder text = new StringBuilder("{");
        INSIDE.forEach((path, n) -> text.append(text.length() > 1 ? "," : "").append('"' + path + "\":" + n));
        return text.append('}').toString();
    }

    public static void ready(int port, Upstream client) {
        upstream = client;
        System.out.println("127.0.0.1:" + port);
        System.out.flush();
    }
}
