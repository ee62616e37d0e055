import java.nio.channels.Selector;
import java.util.Timer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Pools of Java: "starved", whose tasks wait for tasks of the same pool, or "idle" ones of several kinds. */
public class Pools {
    static void waitForTask(ExecutorService pool, CountDownLatch all) throws Exception {
        all.countDown();
        all.await();
        pool.submit(() -> 42).get();
    }

    static void starve() {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        CountDownLatch all = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) {
            pool.submit(() -> { waitForTask(pool, all); return 1; });
        }
    }

    static void idle() throws Exception {
        ExecutorService fixed = Executors.newFixedThreadPool(3), cached = Executors.newCachedThreadPool();
        for (int i = 0; i < 3; i++) {
            fixed.submit(() -> 1).get();
        }
        cached.submit(() -> 1).get();
        ScheduledExecutorService scheduled = Executors.newScheduledThreadPool(2);
        scheduled.schedule(() -> 1, 1000, TimeUnit.SECONDS);
        scheduled.schedule(() -> 1, 1000, TimeUnit.SECONDS);
        new ForkJoinPool(2).submit(() -> 1).get();
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        daemon("consumer", () -> {
            try {
                for (;;) {
                    queue.take();
                }
            } catch (InterruptedException e) {
                throw new RuntimeException(e);
            }
        });
        Selector selector = Selector.open();
        daemon("selector", () -> {
            try {
                for (;;) {
                    selector.select();
                }
            } catch (java.io.IOException e) {
                throw new RuntimeException(e);
            }
        });
        new Timer("timer");
    }

    static void daemon(String name, Runnable loop) {
        Thread thread = new Thread(loop, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("starved")) {
            starve();
        } else {
            idle();
        }
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
