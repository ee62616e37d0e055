import java.lang.management.ManagementFactory;
import java.util.Arrays;

/**
 * A Java program in which each method has one caller: c9 is called by c8, and so on up to c1, which main calls. So a stack of
 * its first thread is right only if it is this chain. It ends by itself after the number of seconds given as first
 * argument (default 120).
 */
public final class Chain {
    private static final Object LOCK = new Object();
    private static volatile long sink;

    public static void main(String[] args) {
        long seconds = args.length > 0 ? Long.parseLong(args[0]) : 120;
        long begin = System.nanoTime();
        boolean told = false;
        while (System.nanoTime() - begin < seconds * 1_000_000_000L) {
            sink += c1(7);
            // Everything is compiled: on a busy machine that takes longer.
            if (!told && System.nanoTime() - begin > 3_000_000_000L
                    && ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() > 2_000_000_000L) {
                System.out.println("ready");
                told = true;
            }
        }
    }

    private static long c1(long x) {
        return c2(x) + 1;
    }

    private static long c2(long x) {
        return c3(x, x, x, x, x, x, x, x, x) + 1;
    }

    private static long c3(long a, long b, long c, long d, long e, long f, long g, long h, long i) { // some on the stack
        return c4(a + i, new int[3]) + b + c + d + e + f + g + h;
    }

    private static long c4(long x, int[] unused) {
        long sum = unused.length;
        for (int i = 0; i < 40; i++) sum += c5(x + i);
        return sum;
    }

    private static long c5(long x) {
        synchronized (LOCK) {
            return c6(x) + 1;
        }
    }

    private static long c6(long x) {
        try {
            if (x % 5 == 0) throw new IllegalStateException();
            return c7(x);
        } catch (IllegalStateException e) {
            return 3;
        }
    }

    private static long c7(long x) {
        byte[] b = new byte[400];
        b[3] = (byte) x;
        System.arraycopy(b, 0, b, 100, 200);
        sink = Arrays.hashCode(b);
        return c8(b);
    }

    private static long c8(byte[] b) {
        long sum = 0;
        for (int i = 0; i < 200; i++) sum = sum * 31 + b[i];
        return c9(sum);
    }

    private static long c9(long x) {
        return sink + x % 7 + Long.toString(x).length();
    }
}

// SPDX-License-Identifier: Apache-2.0
