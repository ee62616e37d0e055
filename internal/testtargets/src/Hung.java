/** A thread computes without any safepoint. When another asks for one, the machine answers nobody any more. */
public class Hung {
    static final Object LOCK = new Object();
    static volatile int sink;

    static int spin(int n) {
        int x = 1;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                x = x * 31 + j;
                x ^= x >>> 3;
            }
        }
        return x;
    }

    static void forever() {
        sink += spin(Integer.MAX_VALUE);
    }

    static void enter() {
        synchronized (LOCK) {
            sink++;
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 30_000; i++) {
            sink += spin(10);
        }
        synchronized (LOCK) {
            Thread waiter = new Thread(Hung::enter, "waiter");
            waiter.start();
            while (waiter.getState() != Thread.State.BLOCKED) {
                Thread.sleep(10);
            }
            System.out.println("ready");
            System.out.flush();
            new Thread(Hung::forever, "spinner").start();
            for (;;) {
                System.gc();
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
