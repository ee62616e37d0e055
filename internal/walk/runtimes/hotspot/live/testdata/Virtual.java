// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/** Virtual threads in known waits, N of each kind: Virtual MODE N. */
public class Virtual {
    static final ReentrantLock LOCK = new ReentrantLock(), OTHER = new ReentrantLock();
    static final LinkedBlockingQueue<String> QUEUE = new LinkedBlockingQueue<>();
    static final CompletableFuture<String> FUTURE = new CompletableFuture<>();
    static final Object MONITOR = new Object();
    static final long FOR_EVER = 1_000_000_000L;

    interface Step { void run() throws Exception; }

    static void start(String name, Step step) {
        Thread.ofVirtual().name(name).start(() -> { try { step.run(); } catch (Exception e) { } });
    }

    static void owner() throws Exception { LOCK.lock(); Thread.sleep(FOR_EVER); }
    static void locks() { LOCK.lock(); LOCK.unlock(); }
    static void takes() throws Exception { QUEUE.take(); }
    static void sleeps() throws Exception { Thread.sleep(FOR_EVER); }
    static void gets() throws Exception { FUTURE.get(); }
    static void enters() { synchronized (MONITOR) { } }

    static void deep(int n, Step innermost) throws Exception {
        if (n == 0) innermost.run();
        else deep(n - 1, innermost);
    }

    static class First { static { LOCK.lock(); } static void touch() { } }
    static class Second { static { LOCK.lock(); } static void touch() { } }

    static void holds() throws Exception {
        synchronized (MONITOR) {
            MONITOR.wait(1); // the monitor then names its owner
            LOCK.lock();
        }
    }

    static void until(Thread.State state, Thread thread) throws Exception {
        while (thread.getState() != state) Thread.sleep(1);
    }

    /** Both carriers are pinned by class initializers; a thread without a carrier holds the monitor. */
    static void pinned() throws Exception {
        LOCK.lock();
        Thread holder = Thread.ofVirtual().name("holder").start(() -> { try { holds(); } catch (Exception e) { } });
        while (!LOCK.hasQueuedThread(holder)) Thread.sleep(1);
        until(Thread.State.WAITING, holder);
        until(Thread.State.BLOCKED, Thread.ofPlatform().name("enters").start(Virtual::enters));
        until(Thread.State.WAITING, Thread.ofVirtual().start(() -> First.touch()));
        until(Thread.State.WAITING, Thread.ofVirtual().start(() -> Second.touch()));
        for (int i = 0; i < 5; i++) start("ready-" + i, () -> { });
        ready();
        Thread.sleep(FOR_EVER);
    }

    static void cross(ReentrantLock first, ReentrantLock second, CountDownLatch both, boolean timed) throws Exception {
        first.lock();
        both.countDown();
        both.await();
        if (timed) second.tryLock(FOR_EVER, TimeUnit.MILLISECONDS);
        else second.lock();
    }

    static void waits(int n) throws Exception {
        start("owner", Virtual::owner);
        while (!LOCK.isLocked()) Thread.sleep(1);
        ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        for (int i = 0; i < n; i++) {
            start("locks-" + i, Virtual::locks);
            start("takes-" + i, Virtual::takes);
            start("sleeps-" + i, Virtual::sleeps);
            start("gets-" + i, Virtual::gets);
            start("deep-" + i, () -> deep(200, Virtual::takes));
            executor.submit(() -> { takes(); return null; });
        }
        synchronized (MONITOR) {
            // before JDK 24 a thread that waits for a monitor keeps its carrier
            for (int i = 0; i < n && Runtime.version().feature() >= 24; i++) start("enters-" + i, Virtual::enters);
            ready();
            Thread.sleep(FOR_EVER);
        }
    }

    /** Thread depth-N has N + 1 frames of deep, wakes again and again, and two threads collect and allocate. */
    static void storm(int n) throws Exception {
        for (int i = 0; i < n; i++) {
            int depth = i;
            start("depth-" + i, () -> { while (true) deep(depth, () -> Thread.sleep(1 + depth % 20)); });
        }
        for (int i = 0; i < 2; i++) {
            boolean collects = i == 0;
            Thread.ofPlatform().daemon().start(() -> {
                Object[] kept = new Object[4096];
                for (int k = 0; ; k++) {
                    kept[k % kept.length] = new byte[1024];
                    if (collects && k % 4096 == 0) System.gc();
                }
            });
        }
        ready();
        Thread.sleep(FOR_EVER);
    }

    /** Waits in one function, with frames of one size, and one state, at several lines. */
    static void hop(int pause) throws Exception {
        for (;;) {
            Thread.sleep(pause);
            Thread.sleep(pause);
            LockSupport.parkNanos(1_000_000L * pause);
            LockSupport.parkNanos(1_000_000L * pause);
        }
    }

    /** Half of N threads wait for good, the others hop, and the first thread collects. */
    static void hops(int n) throws Exception {
        start("owner", Virtual::owner);
        while (!LOCK.isLocked()) Thread.sleep(1);
        for (int i = 0; i < n; i++) {
            int depth = i % 40, pause = 1 + i % 300;
            switch (i % 6) {
            case 0: start("takes", () -> deep(depth, Virtual::takes)); break;
            case 1: start("gets", () -> deep(depth, Virtual::gets)); break;
            case 2: start("locks", Virtual::locks); break;
            default: start("hops", () -> deep(depth, () -> hop(pause)));
            }
        }
        ready();
        for (Object kept; ; Thread.sleep(2000)) {
            kept = new byte[1 << 20];
            System.gc();
        }
    }

    /** N threads wait for good, at 20 depths. */
    static void hang(int n) throws Exception {
        for (int i = 0; i < n; i++) {
            int depth = i % 20;
            start("hangs", () -> deep(depth, Virtual::takes));
        }
        ready();
        Thread.sleep(FOR_EVER);
    }

    static void ready() { System.out.println("ready"); System.out.flush(); }

    public static void main(String[] args) throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        boolean timed = args[0].equals("timed");
        switch (args[0]) {
        case "waits": waits(Integer.parseInt(args[1])); break;
        case "pinned": pinned(); break;
        case "hang": hang(Integer.parseInt(args[1])); break;
        case "hops": hops(Integer.parseInt(args[1])); break;
        case "storm": storm(Integer.parseInt(args[1])); break;
        case "mixed":
            Thread.ofPlatform().name("second").start(() -> {
                try { cross(OTHER, LOCK, both, false); } catch (Exception e) { }
            });
            break;
        default: start("second", () -> cross(OTHER, LOCK, both, timed));
        }
        start("first", () -> cross(LOCK, OTHER, both, timed));
        ready();
        Thread.sleep(FOR_EVER);
    }
}
