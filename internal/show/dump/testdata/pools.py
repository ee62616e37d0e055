"""Pools and locks of Python, by the name of a function below."""
import os
import queue
import sys
import threading
from concurrent.futures import ThreadPoolExecutor


def starved():
    global pool
    pool, all_in = ThreadPoolExecutor(4), threading.Barrier(4)

    def outer():
        all_in.wait()
        return pool.submit(int).result()

    for _ in range(4):
        pool.submit(outer)


def idle():
    global pool  # it ends its threads when it is collected
    pool, all_in, jobs = ThreadPoolExecutor(3), threading.Barrier(3), queue.Queue()
    for _ in range(3):
        pool.submit(all_in.wait)

    def consume():
        while True:
            jobs.get()

    threading.Thread(target=consume).start()


def blocked():
    """Threads whose functions have names of pools, and that wait in the midst of work."""
    global pool
    event, jobs, pool = threading.Event(), queue.Queue(), ThreadPoolExecutor(1)

    def background_worker():
        event.wait()

    threading.Thread(target=background_worker).start()
    pool.submit(jobs.get)


def cross(first, second):
    both = threading.Barrier(2)

    def take(one, other):
        with one:
            both.wait()
            with other:
                pass

    threading.Thread(target=take, args=(first, second)).start()
    threading.Thread(target=take, args=(second, first)).start()


def locks():
    cross(threading.Lock(), threading.Lock())


def rlocks():
    cross(threading.RLock(), threading.RLock())


def joins():
    """Two threads that join each other, and one that joins the first with a time-out."""
    threads, all_in = [], threading.Barrier(3)

    def join(other, timeout=None):
        all_in.wait()
        threads[other].join(timeout)

    for name, args in ("first", (1,)), ("second", (0,)), ("timed", (0, 1000)):
        threads.append(threading.Thread(target=join, name=name, args=args))
    for t in threads:
        t.start()


def timed():
    """RLocks that are crossed, but for at most 1,000 s."""

    class Timed:
        def __init__(self):
            self.lock = threading.RLock()

        def __enter__(self):
            self.lock.acquire(timeout=1000)

        def __exit__(self, *_):
            self.lock.release()

    cross(Timed(), Timed())


def uncrossed():
    """A thread that has left the block of a lock, and waits for another one: neither holds what the other one wants."""
    first, second, left = threading.Lock(), threading.Lock(), threading.Event()

    def take():
        with first:
            pass
        left.set()
        with second:
            pass

    second.acquire()
    threading.Thread(target=take).start()
    left.wait()
    first.acquire()
    threading.Thread(target=first.acquire).start()


globals()[sys.argv[1]]()
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
