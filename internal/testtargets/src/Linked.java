import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Calls methods by method handles without end: an adapter takes the last argument from below the return address. The
 * methods have no variables but their arguments, so that nothing else moves the stack pointer.
 */
public class Linked {
    static int result;

    static int spin(int n, int a) {
        while (n > 0) {
            a = a * 31 + n;
            n--;
        }
        return a;
    }

    int own(int n, long a) {
        while (n > 0) {
            a = a * 31 + n;
            n--;
        }
        return (int) a;
    }

    public static void main(String[] args) throws Throwable {
        MethodHandles.Lookup all = MethodHandles.lookup();
        MethodHandle spin = all.findStatic(Linked.class, "spin", MethodType.methodType(int.class, int.class, int.class));
        MethodHandle own = all.findVirtual(Linked.class, "own", MethodType.methodType(int.class, int.class, long.class));
        Linked it = new Linked();
        for (long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L; System.nanoTime() < end;) {
            for (int i = 0; i < 1000; i++) {
                result += (int) spin.invokeExact(i % 40, result) + (int) own.invokeExact(it, i % 40, (long) result);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
