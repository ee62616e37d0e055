// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.*;

/** A pool of two connections, as HikariCP's: borrowers wait in a queue that stores no owner. Argument: virtual. */
public class Pool {
  static final SynchronousQueue<Object> returned = new SynchronousQueue<>(true);
  static final Semaphore begun = new Semaphore(0);
  static volatile long sink;

  static void render() {
    for (long i = 0;; i++) sink = i;
  }

  static void askBank() throws Exception {
    Thread.sleep(3600_000);
  }

  static Object borrow() throws Exception {
    begun.release();
    return returned.poll(1, TimeUnit.HOURS);
  }

  static void start(boolean virtual, Callable<Object> job) throws Exception {
    Runnable run = () -> {
      try {
        job.call();
      } catch (Exception e) {
        throw new RuntimeException(e);
      }
    };
    if (virtual) { // JDK 21
      Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run);
    } else {
      new Thread(run).start();
    }
  }

  public static void main(String[] args) throws Exception {
    boolean virtual = args.length > 0;
    start(virtual, () -> { begun.release(); render(); return null; });
    start(virtual, () -> { begun.release(); askBank(); return null; });
    for (int i = 0; i < 5; i++) start(virtual, Pool::borrow);
    begun.acquire(7);
    System.out.println("ready");
    Thread.sleep(3600_000);
  }
}
