"""Threads that begin and end without end, each named by its own number, some of them renamed while they run."""
import threading
import time


def run():
    me = threading.current_thread()
    me.name = "thread %d" % threading.get_native_id()
    time.sleep(0.002)
    me.name = "thread %d" % threading.get_native_id()


print("ready", flush=True)
while True:
    some = [threading.Thread(target=run, name="new") for _ in range(8)]
    for t in some:
        t.start()
    for t in some:
        t.join()
