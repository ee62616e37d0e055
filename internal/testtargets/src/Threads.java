import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;

/** Threads that tell the kernel's number and their own name, while the collector moves what they are made of. */
public class Threads extends Thread {
    static volatile Object garbage;

    Threads(String name) {
        super(name);
        setDaemon(true);
        start();
    }

    @Override
    public void run() {
        tell();
        try {
            Thread.sleep(1L << 40);
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    /** Writes this thread's number and name. */
    static void tell() {
        try {
            String self = Files.readSymbolicLink(Paths.get("/proc/thread-self")).getFileName().toString();
            String line = "thread " + self + " " + Thread.currentThread().getName() + "\n";
            System.out.write(line.getBytes("UTF-8"));
            System.out.flush();
        } catch (java.io.IOException e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        tell();
        for (int i = 0; i < 20; i++) {
            new Threads("http-nio-8080-exec-request-" + i);
        }
        new Threads("B\u00fcro \u20ac \ud83d\ude00 of many letters");
        new Threads("\u00fc");
        new Thread(() -> { // no class of its own
            Thread.currentThread().setName("renamed after it was started");
            tell();
            while (true) {
                try {
                    garbage = new byte[1 << 12];
                } catch (OutOfMemoryError e) { // the collector is behind; a thread that ended would have no name
                    Thread.yield();
                }
            }
        }).start();
        Thread other = new Thread("one of two names") {
            @Override
            public void run() {
                tell();
                for (int i = 0;; i++) {
                    try {
                        setName(i % 2 == 0 ? "one of two names" : "the other of two names");
                    } catch (OutOfMemoryError e) { // see above
                    }
                    Thread.yield();
                }
            }
        };
        other.start();
        Object[] kept = new Object[1 << 11];
        for (int i = 0;; i++) {
            try {
                kept[i * 31 & kept.length - 1] = new String(new char[i & 0x3fff]);
                if (i % 3000 == 0) {
                    new Thread("come and gone " + i).start();
                    System.gc();
                }
            } catch (OutOfMemoryError e) { // main must not end: its thread would be called DestroyJavaVM from then on
                Arrays.fill(kept, null);
            }
            if (i == 200) {
                System.out.write("ready\n".getBytes());
                System.out.flush();
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
