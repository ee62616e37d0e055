import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A load for benchmarks/overhead: Load RUNNING SLEEPING. RUNNING threads compute and count, SLEEPING wait for what
 * never comes. Each line on standard input is answered by the work done so far and the time, as JSON; the
 * load ends when its standard input does.
 */
public final class Load {
    /** Counts are this many longs apart: on cache lines of their own. */
    private static final int APART = 16;
    private static volatile long sink;

    private static long mix(long x) {
        for (int i = 0; i < 200; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    private static void work(AtomicLongArray counts, int at) {
        for (long x = 1, n = 1; ; n++) {
            x = mix(x);
            counts.lazySet(at, n);
            if (n % 1024 == 0) sink = x;
        }
    }

    private static void start(Runnable body) {
        Thread t = new Thread(null, body, "load", 256 * 1024);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        int running = Integer.parseInt(args[0]);
        CountDownLatch never = new CountDownLatch(1);
        AtomicLongArray counts = new AtomicLongArray(running * APART);
        for (int i = 0; i < running; i++) {
            int at = i * APART;
            start(() -> work(counts, at));
        }
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            start(() -> {
                try {
                    never.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            long sum = 0;
            for (int i = 0; i < counts.length(); i += APART) sum += counts.get(i);
            System.out.println("{\"work\":" + sum + ",\"at\":" + System.nanoTime() + "}");
        }
        System.exit(0);
    }
}

// SPDX-License-Identifier: Apache-2.0
