import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.lang.reflect.Method;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Makes a class after the other, in a class loader of its own, and drops them: the memory of its methods and of their
 * code is used again. The methods have a number in their names. While one is called, the number is in a file.
 */
public class Reuse {
    static volatile int sink;

    public static void main(String[] args) throws Exception {
        byte[] template = read("Reuse$Numbered.class");
        MappedByteBuffer now;
        try (RandomAccessFile f = new RandomAccessFile(args[0], "rw")) {
            now = f.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 4096);
        }
        now.order(ByteOrder.nativeOrder());
        for (int i = 1;; i++) {
            one(template, i, now);
            if (i % 16 == 0) {
                System.gc();
            }
        }
    }

    static void one(byte[] template, int i, MappedByteBuffer now) throws Exception {
        String number = String.format("%08d", i);
        byte[] code = template.clone();
        for (int at = 0; at + 10 < code.length; at++) {
            if ((code[at] == 'm' || code[at] == 'k') && is(code, at + 1, "00000000")) {
                System.arraycopy(number.getBytes("US-ASCII"), 0, code, at + 1, 8);
            }
        }
        Class<?> c = new Loader().define(code);
        Method m = c.getMethod("m" + number, int.class);
        now.putInt(0, i);
        sink += (Integer) m.invoke(null, i);
        now.putInt(0, 0);
    }

    static boolean is(byte[] b, int at, String s) {
        for (int i = 0; i < s.length(); i++) {
            if (b[at + i] != s.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    static byte[] read(String name) throws Exception {
        try (InputStream in = Reuse.class.getResourceAsStream(name)) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            for (int c = in.read(); c >= 0; c = in.read()) {
                out.write(c);
            }
            return out.toByteArray();
        }
    }

    static class Loader extends ClassLoader {
        Class<?> define(byte[] code) {
            return defineClass("Reuse$Numbered", code, 0, code.length);
        }
    }

    public static class Numbered {
        public static int m00000000(int n) {
            int s = n;
            long end = System.nanoTime() + 1500000;
            while (System.nanoTime() < end) {
                for (int i = 0; i < 20; i++) {
                    s = k00000000(s);
                }
            }
            return s;
        }

        public static int k00000000(int n) {
            int s = n;
            for (int i = 0; i < 40; i++) {
                s = s * 31 + i;
            }
            return s;
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
