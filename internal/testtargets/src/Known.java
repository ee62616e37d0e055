import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.function.IntUnaryOperator;

/** Each of its methods has one caller, which is in its name's comment; the calls go by all ways that Java has. */
public class Known {
    static volatile int sink;
    static final Object lock = new Object();
    static MethodHandle handle;
    static Method reflected;
    static final int DEPTH = 5;

    interface Shape {
        int area(int n);
    }

    static class Square implements Shape {
        public int area(int n) { // Known.viaVirtual
            int s = work(n);
            s += viaException(n);
            return s + work(n);
        }
    }

    static class Circle implements Shape {
        public int area(int n) {
            return work(n) + 1;
        }
    }

    static class Fault extends RuntimeException {
        Fault() {
            super("", null, false, false);
        }
    }

    static final Shape[] shapes = {new Square(), new Circle()};

    static int work(int n) {
        int s = n;
        for (int i = 0; i < 50; i++) {
            s = s * 31 + i;
        }
        return s;
    }

    public static void main(String[] args) throws Throwable {
        handle = MethodHandles.lookup().findStatic(Known.class, "viaHandle", MethodType.methodType(int.class, int.class));
        reflected = Known.class.getDeclaredMethod("viaReflection", int.class);
        if (args.length > 0 && args[0].equals("virtual")) {
            Method start = null;
            for (Method m : Thread.class.getMethods()) {
                start = m.getName().equals("startVirtualThread") ? m : start;
            }
            if (start != null) { // JDK 21 and later
                ((Thread) start.invoke(null, (Runnable) Known::forever)).join();
            }
        }
        forever();
    }

    static void forever() { // main
        for (int i = 0;; i++) {
            try {
                sink += top(i);
            } catch (Throwable t) {
                t.printStackTrace();
                System.exit(1);
            }
        }
    }

    static int top(int n) throws Throwable { // forever
        int s = work(n);
        s += locked(n);
        return s + work(n);
    }

    static int locked(int n) throws Throwable { // top
        int s = work(n);
        synchronized (lock) {
            s += whole(n);
        }
        return s;
    }

    static synchronized int whole(int n) throws Throwable { // locked
        return work(n) + recursive(n, DEPTH) + work(n);
    }

    static int recursive(int n, int depth) throws Throwable { // whole, itself
        int s = work(n);
        if (depth > 1) {
            return s + recursive(n + 1, depth - 1);
        }
        return s + viaLambda(n);
    }

    static int viaLambda(int n) throws Throwable { // recursive
        IntUnaryOperator f = x -> {
            int s = work(x);
            s += afterLambda(x);
            return s + work(x);
        };
        return apply(f, n) + work(n);
    }

    static int apply(IntUnaryOperator f, int n) { // viaLambda
        return f.applyAsInt(n) + work(n);
    }

    static int afterLambda(int n) { // lambda
        try {
            return (int) handle.invokeExact(n) + work(n);
        } catch (Throwable t) {
            throw new RuntimeException(t);
        }
    }

    static int viaHandle(int n) throws Throwable { // afterLambda
        int s = work(n);
        s += (Integer) reflected.invoke(null, n);
        return s + work(n);
    }

    static int viaReflection(int n) { // viaHandle
        int s = work(n);
        s += viaVirtual(shapes[0], n);
        s += viaOther(shapes[n & 1], n);
        return s;
    }

    static int viaOther(Shape shape, int n) { // viaReflection: to keep the call below from having one receiver
        return shape instanceof Circle ? shape.area(n) : 0;
    }

    static int viaVirtual(Shape shape, int n) { // viaReflection
        return shape.area(n) + work(n);
    }

    static int viaException(int n) { // Square.area
        try {
            return thrower(n);
        } catch (Fault f) {
            return work(n) + caught(n);
        }
    }

    static int thrower(int n) { // viaException
        int s = work(n);
        if ((n & 3) == 0) {
            throw new Fault();
        }
        return s;
    }

    static int caught(int n) { // viaException
        int s = work(n);
        Integer[] a = {n & 7, n >> 1 & 7, n >> 2 & 7, n >> 3 & 7};
        Arrays.sort(a, new Comparator<Integer>() {
            public int compare(Integer x, Integer y) { // caught, by the sort
                return work(x) == sink ? 0 : last(x, y);
            }
        });
        return s + a[0];
    }

    static int last(int x, int y) { // compare
        return Integer.compare(x, y) + work(x) - work(x);
    }
}

// SPDX-License-Identifier: Apache-2.0
