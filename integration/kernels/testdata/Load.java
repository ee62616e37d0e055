// SPDX-License-Identifier: Apache-2.0

/** The main thread is busy. Of two other threads, one holds a monitor while it sleeps, for which the other waits. */
public class Load {
    static final Object LOCK = new Object();
    static volatile int result;

    static int spin() {
        int n = 0;
        for (int i = 0; i < 100000; i++) {
            n = (n + i * 7) % 1000003;
        }
        return n;
    }

    static int inner() {
        return spin() + 1;
    }

    static void outer() {
        for (;;) {
            result = inner();
        }
    }

    static void hold() {
        synchronized (LOCK) {
            try {
                Thread.sleep(3_600_000);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void waitForMonitor() {
        synchronized (LOCK) {
            result = 0;
        }
    }

    static Thread started(Runnable run, String name, Thread.State until) {
        Thread t = new Thread(run, name);
        t.setDaemon(true);
        t.start();
        while (t.getState() != until) {
            Thread.onSpinWait();
        }
        return t;
    }

    public static void main(String[] args) {
        started(Load::hold, "holder", Thread.State.TIMED_WAITING);
        started(Load::waitForMonitor, "waiter", Thread.State.BLOCKED);
        System.out.println("ready");
        outer();
    }
}
