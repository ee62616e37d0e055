import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that tell the kernel's number and what they wait for: "thread NUMBER NAME KIND CLASS OWNER", where the owner
 * is another one's name, and "-" stands for none. Meanwhile objects are moved. With "deadlock" three of them wait for
 * each other's monitors.
 */
public class Waits {
    static class Cart {}

    static class Queue {}

    static class Latch {}

    static volatile Object garbage;
    static final Cart cart = new Cart();
    static final Queue queue = new Queue();
    static final Queue timed = new Queue();
    static final ReentrantLock reentrant = new ReentrantLock();
    static final CountDownLatch held = new CountDownLatch(3);

    interface Body {
        void run() throws Exception;
    }

    static void start(String name, String waits, Body body) {
        Thread t = new Thread(() -> {
            try {
                tell(waits);
                body.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name);
        t.setDaemon(true);
        t.start();
    }

    /** Writes this thread's number, name, and what it is going to wait for. */
    static void tell(String waits) throws Exception {
        String self = Files.readSymbolicLink(Paths.get("/proc/thread-self")).getFileName().toString();
        String line = "thread " + self + " " + Thread.currentThread().getName() + " " + waits + "\n";
        synchronized (System.out) {
            System.out.write(line.getBytes("UTF-8"));
            System.out.flush();
        }
    }

    static void forever() throws Exception {
        Thread.sleep(1L << 40);
    }

    public static void main(String[] args) throws Exception {
        start("owner", "sleep - -", () -> {
            synchronized (cart) {
                reentrant.lock();
                held.countDown();
                forever();
            }
        });
        start("inflated", "sleep - -", () -> {
            synchronized (timed) {
                timed.wait(1); // its monitor has a structure of its own from now on
                synchronized (timed) {
                    held.countDown();
                    forever();
                }
            }
        });
        Object[] ring = {new Cart(), new Queue(), new Latch()};
        CountDownLatch taken = new CountDownLatch(ring.length);
        boolean deadlock = args.length > 0;
        for (int i = 0; i < ring.length && deadlock; i++) {
            Object mine = ring[i], next = ring[(i + 1) % ring.length];
            start("ring" + i, "monitor " + next.getClass().getName() + " ring" + (i + 1) % ring.length, () -> {
                synchronized (mine) {
                    taken.countDown();
                    taken.await();
                    synchronized (next) {
                        forever();
                    }
                }
            });
        }
        held.countDown();
        held.await();
        start("blocked0", "monitor Waits$Cart owner", () -> {
            synchronized (cart) {
                forever();
            }
        });
        start("blocked1", "monitor Waits$Cart owner", () -> {
            synchronized (cart) {
                forever();
            }
        });
        start("blocked2", "monitor Waits$Queue inflated", () -> {
            synchronized (timed) {
                forever();
            }
        });
        start("waiting", "wait Waits$Queue -", () -> {
            synchronized (queue) {
                queue.wait();
            }
        });
        start("timed", "wait Waits$Queue -", () -> {
            synchronized (queue) {
                queue.wait(1L << 40);
            }
        });
        start("locker", "park java.util.concurrent.locks.ReentrantLock$NonfairSync owner", () -> reentrant.lock());
        start("parked", "park Waits$Latch -", () -> {
            while (true) {
                LockSupport.park(new Latch());
            }
        });
        start("plain", "park - -", () -> {
            while (true) {
                LockSupport.park();
            }
        });
        start("latch", "park java.util.concurrent.CountDownLatch$Sync -", () -> new CountDownLatch(1).await());
        start("nap", "sleep - -", Waits::forever);
        Thread ended = new Thread(() -> LockSupport.parkNanos(1L << 60), "long");
        ended.setDaemon(true);
        ended.start();
        start("joiner", "wait java.lang.Thread -", ended::join);
        System.out.write("ready\n".getBytes());
        System.out.flush();
        for (int i = 0;; i++) {
            garbage = new byte[1 << 16];
            if (i % 100 == 0) {
                System.gc();
            }
            Thread.sleep(1);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
