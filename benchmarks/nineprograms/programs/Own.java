// A program that computes in one thread, while another one waits for a monitor.
public class Own {
    static volatile long sink;
    static final Object cache = new Object();

    static long invoiceTotal(long n) {
        long sum = 0;
        for (long i = 1; i < n; i++) {
            sum += i * i % 7;
        }
        return sum;
    }

    static void waitForCache() {
        synchronized (cache) {
            sink++;
        }
    }

    public static void main(String[] args) {
        synchronized (cache) {
            Thread waiting = new Thread(Own::waitForCache, "waits");
            waiting.setDaemon(true);
            waiting.start();
            for (;;) {
                sink += invoiceTotal(1_000_000);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
