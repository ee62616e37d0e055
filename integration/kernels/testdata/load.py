# SPDX-License-Identifier: Apache-2.0
# The main thread is busy and holds a lock, for which a thread waits.
import threading

lock = threading.RLock()


def spin():
    n = 0
    for i in range(10_000):
        n += i
    return n


def inner():
    return spin()


def outer():
    while True:
        inner()


def wait_for_lock():
    with lock:
        pass


lock.acquire()
threading.Thread(target=wait_for_lock, name="waiter", daemon=True).start()
print("ready", flush=True)
outer()
