import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * A Java program that is busy in compiled code. burnSixty, burnThirty and burnTen stand as 60:30:10; a
 * second thread waits on a monitor. It ends by itself after the number of seconds given as first
 * argument (default 120).
 */
public final class Load {
    private static final int UNIT = 2000;
    private static final Object MONITOR = new Object();
    private static volatile long sink;

    private static long mix(long seed) {
        seed ^= seed << 13;
        seed ^= seed >>> 7;
        return seed ^ (seed << 17);
    }

    private static long burnSixty(long seed) {
        for (int i = 0; i < 60 * UNIT; i++) seed = mix(seed);
        return seed;
    }

    private static long burnThirty(long seed) {
        for (int i = 0; i < 30 * UNIT; i++) seed = mix(seed);
        return seed;
    }

    private static long burnTen(long seed) {
        for (int i = 0; i < 10 * UNIT; i++) seed = mix(seed);
        return seed;
    }

    private static long sortNumbers(long seed) {
        Long[] numbers = new Long[500];
        for (int i = 0; i < numbers.length; i++) {
            seed = mix(seed | 1);
            numbers[i] = seed;
        }
        Arrays.sort(numbers, (a, b) -> Long.compare(a % 1009, b % 1009));
        return numbers[250];
    }

    private static long countWords(long seed) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 200; i++) {
            seed = mix(seed | 1);
            counts.merge("word" + seed % 90, 1, Integer::sum);
        }
        return counts.size();
    }

    private static void runLoad(long nanos) {
        long seed = 1;
        for (long end = System.nanoTime() + nanos; System.nanoTime() < end; ) {
            seed = burnSixty(seed | 1);
            seed += burnThirty(seed | 1);
            seed += burnTen(seed | 1);
            seed += sortNumbers(seed) + countWords(seed);
            sink = seed;
        }
    }

    private static void waitForWork() {
        synchronized (MONITOR) {
            try {
                MONITOR.wait();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    public static void main(String[] args) {
        long seconds = args.length > 0 ? Long.parseLong(args[0]) : 120;
        Thread waiter = new Thread(Load::waitForWork, "waiter");
        waiter.setDaemon(true);
        waiter.start();
        // Compiled before anyone looks: on a busy machine that takes longer.
        do runLoad(2_000_000_000L);
        while (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < 1_500_000_000L);
        System.out.println("ready");
        runLoad(seconds * 1_000_000_000L);
    }
}

// SPDX-License-Identifier: Apache-2.0
