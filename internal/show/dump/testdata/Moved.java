// SPDX-License-Identifier: Apache-2.0

import java.util.Random;
import java.util.concurrent.locks.ReentrantLock;

// Moved deadlocks two threads with locks, and two with monitors; then collections move objects.
class Moved {
	static Object[] kept = new Object[30_000];
	static final Random random = new Random(1);

	public static void main(String[] args) throws Exception {
		allocate(); // the locks lie between objects that die
		ReentrantLock first = new ReentrantLock(), second = new ReentrantLock();
		Thread[] threads = {lock(first, second), lock(second, first), enter(kept[1], kept[2]), enter(kept[2], kept[1])};
		for (Thread t : threads)
			while (t.getState() != Thread.State.WAITING && t.getState() != Thread.State.BLOCKED)
				Thread.sleep(1);
		for (int i = 0; i < 2; i++) {
			allocate();
			System.gc();
		}
		System.out.println("ready");
		Thread.sleep(Long.MAX_VALUE);
	}

	static void allocate() {
		for (int i = 0; i < 300_000; i++) {
			int at = 3 + random.nextInt(kept.length - 3);
			kept[at] = new byte[random.nextInt(100)];
		}
		for (int i = 1; i < 3; i++)
			if (kept[i] == null)
				kept[i] = new Object();
	}

	static Thread lock(ReentrantLock own, ReentrantLock other) {
		return start("locks", () -> {
			own.lock();
			await();
			other.lock();
		});
	}

	static Thread enter(Object own, Object other) {
		return start("monitors", () -> {
			synchronized (own) {
				await();
				synchronized (other) {
				}
			}
		});
	}

	static final java.util.concurrent.CountDownLatch all = new java.util.concurrent.CountDownLatch(4);

	static void await() {
		all.countDown();
		try {
			all.await();
		} catch (InterruptedException e) {
		}
	}

	static Thread start(String name, Runnable work) {
		Thread t = new Thread(work, name);
		t.setDaemon(true);
		t.start();
		return t;
	}
}
