import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigInteger;
import java.util.Arrays;

/**
 * Five kinds of work in turn, of which each measures its own processor time, and a thread that sleeps. After so many
 * seconds it prints each one's share: that is the truth for who samples it. Each method has one caller.
 */
public class Shares {
    static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    static volatile long sink;
    static final long[] used = new long[5];
    static final int[] numbers = new int[1 << 16];
    static final String[] words = new String[4000];
    static BigInteger big = BigInteger.valueOf(3).pow(3000);

    static void counted() { // no safepoint in it, with the usual options of old releases
        int sum = 0;
        for (int r = 0; r < 120; r++) {
            for (int i = 0; i < numbers.length; i++) {
                sum = sum * 31 + numbers[i] / 7;
            }
        }
        sink += sum;
    }

    static void sorted() { // comparisons of strings, by the machine's intrinsics
        String[] copy = words.clone();
        Arrays.sort(copy);
        sink += copy[0].length();
    }

    static void multiplied() { // BigInteger.multiplyToLen is a stub
        for (int i = 0; i < 10; i++) {
            sink += big.multiply(big).bitLength();
        }
    }

    static void copied() { // arraycopy is a stub
        int[] to = new int[numbers.length];
        for (int i = 0; i < 150; i++) {
            System.arraycopy(numbers, 0, to, 0, to.length);
        }
        sink += to[7];
    }

    static int depth(int n) {
        return n == 0 ? (int) sink : depth(n - 1) + 1;
    }

    static void recursive() {
        for (int i = 0; i < 3000; i++) {
            sink += depth(300);
        }
    }

    static void work(int kind) {
        switch (kind) {
            case 0: counted(); break;
            case 1: sorted(); break;
            case 2: multiplied(); break;
            case 3: copied(); break;
            default: recursive();
        }
    }

    static void timed(int kind) {
        long from = clock.getCurrentThreadCpuTime();
        work(kind);
        used[kind] += clock.getCurrentThreadCpuTime() - from;
    }

    static void sleeper() {
        try {
            for (;;) {
                Thread.sleep(1000);
            }
        } catch (InterruptedException e) {
            sink++;
        }
    }

    public static void main(String[] args) {
        for (int i = 0; i < words.length; i++) {
            words[i] = "a common beginning of all words " + (i * 7919L % 10007);
        }
        Thread t = new Thread(Shares::sleeper, "sleeper");
        t.setDaemon(true);
        t.start();
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        long warm = System.nanoTime() + 2_000_000_000L;
        boolean hot = false;
        for (int i = 0; System.nanoTime() < end; i++) {
            if (!hot && System.nanoTime() > warm) {
                Arrays.fill(used, 0);
                hot = true;
                System.out.println("hot");
                System.out.flush();
            }
            timed(i % 5);
        }
        long all = Arrays.stream(used).sum();
        String[] names = {"counted", "sorted", "multiplied", "copied", "recursive"};
        StringBuilder out = new StringBuilder();
        for (int k = 0; k < 5; k++) {
            out.append(names[k]).append(String.format(" %.1f ", 100.0 * used[k] / all));
        }
        System.out.println(out);
    }
}

// SPDX-License-Identifier: Apache-2.0
