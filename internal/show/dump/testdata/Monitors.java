// SPDX-License-Identifier: Apache-2.0

// Monitors N: thread owner has N monitors, for each of which a thread waits. The JVM wakes such waiters now and then.
class Monitors {
	public static void main(String[] args) throws Exception {
		Object[] monitors = new Object[Integer.parseInt(args[0])];
		for (int i = 0; i < monitors.length; i++)
			monitors[i] = new Object();
		Thread owner = new Thread(null, () -> enter(monitors, 0), "owner", 16 << 20);
		owner.start();
	}

	static void enter(Object[] monitors, int i) {
		if (i < monitors.length) {
			synchronized (monitors[i]) {
				enter(monitors, i + 1);
			}
			return;
		}
		Thread[] waiters = new Thread[monitors.length];
		for (int n = 0; n < waiters.length; n++) {
			Object monitor = monitors[n];
			waiters[n] = new Thread(null, () -> {
				synchronized (monitor) {
				}
			}, "waiter-" + n, 128 << 10);
			waiters[n].start();
		}
		for (Thread t : waiters)
			while (t.getState() != Thread.State.BLOCKED)
				Thread.yield();
		System.out.println("ready");
		try {
			Thread.sleep(Long.MAX_VALUE);
		} catch (InterruptedException e) {
		}
	}
}
