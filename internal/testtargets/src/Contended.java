import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that wait for each other: for a monitor, for a lock of java.util.concurrent, and, as threads come and go and
 * classes' code is compiled, for the locks of the virtual machine itself. The argument is for how many seconds.
 */
public class Contended {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static long counted;

    /** Takes a monitor that others want, and computes with it. */
    static void inMonitor() {
        synchronized (monitor) {
            compute();
        }
    }

    static void inLock() {
        lock.lock();
        try {
            compute();
        } finally {
            lock.unlock();
        }
    }

    static void compute() {
        for (int i = 0; i < 20_000; i++) {
            counted += i % 7;
        }
    }

    static void forever(Runnable r) {
        Thread t = new Thread(() -> {
            while (true) {
                r.run();
            }
        });
        t.setDaemon(true);
        t.start();
    }

    /** Starts a thread and waits for its end: both take the virtual machine's lock of the list of threads. */
    static void startOne() {
        Thread t = new Thread(() -> { });
        t.start();
        try {
            t.join();
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 6; i++) {
            forever(Contended::inMonitor);
            forever(Contended::inLock);
        }
        for (int i = 0; i < 16; i++) {
            forever(Contended::startOne);
        }
        System.out.println("ready");
        Thread.sleep(1000L * Integer.parseInt(args[0]));
    }
}

// SPDX-License-Identifier: Apache-2.0
