import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.DoubleUnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * A Java program that does many kinds of things in turn, on three threads: it makes garbage, throws exceptions, calls
 * native code, methods by reflection and by method handles, and lets each of the compilers have its part. It ends by
 * itself after the number of seconds given as first argument (default 120).
 */
public final class Mixed {
    private static volatile Object sink;

    private static final Runnable[] WORK = {
        Mixed::garbage, Mixed::expressions, Mixed::exceptions, Mixed::compression, Mixed::digests, Mixed::manyTargets,
        Mixed::streams, Mixed::reflection, Mixed::strings, Mixed::locks, Mixed::functions, Mixed::bigNumbers, Mixed::copies,
        Mixed::proxies,
    };

    private static void garbage() {
        List<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            kept.add(new byte[1000 + i * 37 % 5000]);
            if (kept.size() > 300) kept.subList(0, 150).clear();
        }
        sink = kept;
    }

    private static void expressions() {
        Matcher m = Pattern.compile("(\\w+)\\s+squared\\s+is\\s+(\\d+)").matcher("seven squared is 49 and eight squared is 64");
        int n = 0;
        for (int i = 0; i < 50; i++) {
            m.reset();
            while (m.find()) n += m.group(2).length();
        }
        sink = n;
    }

    private static int down(int n) {
        if (n == 0) throw new IllegalStateException("at the bottom");
        return down(n - 1) + 1;
    }

    private static void exceptions() {
        for (int i = 0; i < 20; i++) {
            try {
                down(40 + i);
            } catch (IllegalStateException e) {
                sink = e.getStackTrace().length;
            }
        }
    }

    private static void compression() {
        byte[] text = new byte[20000];
        for (int i = 0; i < text.length; i++) text[i] = (byte) (i * i >> 5);
        Deflater d = new Deflater();
        d.setInput(text);
        d.finish();
        byte[] out = new byte[30000];
        CRC32 sum = new CRC32();
        sum.update(out, 0, d.deflate(out));
        d.end();
        sink = sum.getValue();
    }

    private static void digests() {
        try {
            MessageDigest d = MessageDigest.getInstance("SHA-256");
            for (int i = 0; i < 50; i++) d.update(new byte[512]);
            sink = d.digest();
        } catch (java.security.GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void manyTargets() {
        DoubleUnaryOperator[] areas = {r -> r * r * 3, r -> r * r, r -> r};
        double sum = 0;
        for (int i = 0; i < 20000; i++) sum += areas[i % 3].applyAsDouble(i);
        sink = sum;
    }

    private static void streams() {
        sink = IntStream.range(0, 2000).mapToObj(i -> "key" + i % 100).collect(Collectors.groupingBy(k -> k, Collectors.counting()));
    }

    private static int halvings(int n) {
        return n <= 0 ? 0 : halvings(n / 2) + 1;
    }

    private static void reflection() {
        try {
            Method m = Mixed.class.getDeclaredMethod("halvings", int.class);
            for (int i = 0; i < 200; i++) sink = m.invoke(null, i);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void strings() {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < 2000; i++) b.append(i).append(',').append(i * 0.5);
        sink = b.toString().split(",").length;
    }

    private static synchronized void locks() {
        for (int i = 0; i < 1000; i++) sink = i;
    }

    private static void functions() {
        double sum = 0;
        for (int i = 1; i < 5000; i++) sum += Math.sin(i) * Math.pow(i, 0.3) + Math.log(i);
        sink = sum;
    }

    private static void bigNumbers() {
        BigInteger modulus = new BigInteger(800, new Random(3)).setBit(0);
        sink = new BigInteger(800, new Random(1)).modPow(new BigInteger(200, new Random(2)), modulus);
    }

    private static void copies() {
        int[] from = new int[50000];
        int[] to = new int[50000];
        for (int i = 0; i < 20; i++) {
            System.arraycopy(from, 0, to, 0, to.length);
            Arrays.fill(from, i);
        }
        sink = to;
    }

    private static void proxies() {
        Runnable r = (Runnable) Proxy.newProxyInstance(Mixed.class.getClassLoader(), new Class<?>[] {Runnable.class}, (p, m, a) -> null);
        for (int i = 0; i < 300; i++) r.run();
    }

    private static void worker(int first, long end) {
        for (int i = first; System.nanoTime() < end; i++) WORK[i % WORK.length].run();
    }

    public static void main(String[] args) {
        long seconds = args.length > 0 ? Long.parseLong(args[0]) : 120;
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        System.out.println("ready");
        for (int i = 0; i < 3; i++) {
            int first = 5 * i;
            new Thread(() -> worker(first, end), "worker-" + i).start();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
