import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.Checksum;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * A Java program at work in what HotSpot has routines of its own for: strings, sorting, big numbers, checksums,
 * cryptography. All of it is called by c4, which c3 calls, and so on up to main, so that the outer end of a right stack
 * is this chain. It ends by itself after the number of seconds given as first argument (default 120).
 *
 * Further arguments are the kinds of work that are done; without, all are. It runs on Java 8, too: what came later is
 * left out there.
 */
public final class Work {
    private static volatile long sink;

    private static final MethodHandle MISMATCH = mismatch();

    private static final String SHA3 = MISMATCH == null ? "SHA-224" : "SHA3-256";

    private static MethodHandle mismatch() {
        try {
            return MethodHandles.lookup().findStatic(Arrays.class, "mismatch",
                    MethodType.methodType(int.class, byte[].class, byte[].class));
        } catch (ReflectiveOperationException since9) {
            return null;
        }
    }

    public static void main(String[] args) throws Exception {
        long seconds = args.length > 0 ? Long.parseLong(args[0]) : 120;
        long begin = System.nanoTime();
        String[] words = words();
        byte[] bytes = new byte[16384];
        new Random(3).nextBytes(bytes);
        int[] kinds = kinds(args);
        boolean told = false;
        for (int i = 0; System.nanoTime() - begin < seconds * 1_000_000_000L; i++) {
            sink += c1(words, bytes, kinds[i % kinds.length]);
            if (!told && System.nanoTime() - begin > 4_000_000_000L) {
                System.out.println("ready");
                told = true;
            }
        }
    }

    private static int[] kinds(String[] args) {
        int[] out = new int[args.length > 1 ? args.length - 1 : 11];
        for (int i = 0; i < out.length; i++) out[i] = args.length > 1 ? Integer.parseInt(args[i + 1]) : i;
        return out;
    }

    private static String[] words() {
        Random random = new Random(7);
        String[] out = new String[500];
        for (int i = 0; i < out.length; i++) {
            StringBuilder b = new StringBuilder("a/common/beginning/of/all/words/");
            for (int n = 5 + random.nextInt(60); n > 0; n--) b.append((char) ('a' + random.nextInt(3)));
            out[i] = b.toString();
        }
        return out;
    }

    private static long c1(String[] w, byte[] b, int kind) throws Exception {
        return c2(w, b, kind) + 1;
    }

    private static long c2(String[] w, byte[] b, int kind) throws Exception {
        return c3(w, b, kind) + 1;
    }

    private static long c3(String[] w, byte[] b, int kind) throws Exception {
        return c4(w, b, kind) + 1;
    }

    private static long c4(String[] w, byte[] b, int kind) throws Exception {
        switch (kind) {
            case 0: return sorted(w);
            case 1: return searched(w);
            case 2: return hashed(w);
            case 3: return encoded(w);
            case 4: return streamed(w);
            case 5: return multiplied();
            case 6: return summed(b);
            case 7: return compressed(b);
            case 8: return digested(b);
            case 9: return encrypted(b);
            default: return copied();
        }
    }

    private static long sorted(String[] w) {
        String[] copy = w.clone();
        Arrays.sort(copy);
        return copy[3].length();
    }

    private static long searched(String[] w) {
        Pattern pattern = Pattern.compile("(a+b)*c?ab+c");
        long sum = 0;
        for (String s : w) {
            sum += s.split("a").length + s.indexOf("abcabcabc") + s.indexOf('z') + s.lastIndexOf("abc");
            if (pattern.matcher(s).find()) sum++;
        }
        return sum;
    }

    private static long hashed(String[] w) {
        Map<String, Integer> map = new HashMap<>();
        for (String s : w) map.merge(new String(s), 1, Integer::sum);
        for (int i = 1; i < w.length; i++) sink += w[i].equals(w[i - 1]) ? 1 : w[i].compareToIgnoreCase(w[i - 1]);
        return map.size();
    }

    private static long encoded(String[] w) throws Exception {
        long sum = 0;
        for (String s : w) {
            byte[] u = s.getBytes(StandardCharsets.UTF_8);
            byte[] x = (s + "\u20ac").getBytes(StandardCharsets.UTF_16LE);
            sum += new String(u, StandardCharsets.UTF_8).length() + Arrays.hashCode(u) + mismatch(u, x);
            if (Arrays.equals(u, x)) sum++;
        }
        return sum;
    }

    private static int mismatch(byte[] a, byte[] b) throws Exception {
        try {
            return MISMATCH == null ? 0 : (int) MISMATCH.invokeExact(a, b);
        } catch (Error | Exception e) {
            throw e;
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    private static long streamed(String[] w) {
        return Arrays.stream(w).map(String::toUpperCase).filter(s -> s.contains("ABC"))
                .sorted(Comparator.reverseOrder()).count();
    }

    private static long multiplied() {
        BigInteger a = new BigInteger(2000, new Random(1));
        BigInteger m = new BigInteger(2000, new Random(2)).setBit(0);
        return a.modPow(new BigInteger(100, new Random(3)), m).bitLength() + a.multiply(a).bitLength();
    }

    private static long summed(byte[] b) {
        CRC32 crc = new CRC32();
        crc.update(b);
        long sum = 0;
        try {
            Checksum crcC = (Checksum) Class.forName("java.util.zip.CRC32C").getConstructor().newInstance();
            crcC.update(b, 0, b.length);
            sum = crcC.getValue();
        } catch (ReflectiveOperationException since9) {
            sum = 1;
        }
        Adler32 adler = new Adler32();
        adler.update(b);
        return crc.getValue() + sum + adler.getValue();
    }

    private static long compressed(byte[] b) throws Exception {
        Deflater deflater = new Deflater();
        deflater.setInput(b, 0, 8000);
        deflater.finish();
        byte[] small = new byte[20000];
        int n = deflater.deflate(small);
        deflater.end();
        Inflater inflater = new Inflater();
        inflater.setInput(small, 0, n);
        n = inflater.inflate(new byte[8000]);
        inflater.end();
        return n;
    }

    private static long digested(byte[] b) throws Exception {
        long sum = 0;
        for (String name : new String[] {"MD5", "SHA-1", "SHA-256", "SHA-512", SHA3})
            sum += MessageDigest.getInstance(name).digest(b)[0];
        return sum;
    }

    private static long encrypted(byte[] b) throws Exception {
        SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
        Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding");
        cipher.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(new byte[16]));
        long sum = cipher.doFinal(b).length;
        cipher = Cipher.getInstance("AES/CTR/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(new byte[16]));
        sum += cipher.doFinal(b).length;
        cipher = Cipher.getInstance("AES/GCM/NoPadding");
        byte[] once = new byte[12]; // GCM takes no nonce twice
        new Random().nextBytes(once);
        cipher.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(128, once));
        sum += cipher.doFinal(b, 0, 8000).length;
        return sum + Base64.getDecoder().decode(Base64.getEncoder().encodeToString(b)).length;
    }

    private static long copied() {
        Object[] from = new Object[5000];
        Object[] to = new Object[5000];
        System.arraycopy(from, 0, to, 0, from.length);
        double sum = 0;
        for (int i = 0; i < 5000; i++) sum += Math.sin(i) * Math.exp(-i) + Math.pow(i, 1.5) + Math.log(i + 1);
        return to.length + (long) sum;
    }
}

// SPDX-License-Identifier: Apache-2.0
