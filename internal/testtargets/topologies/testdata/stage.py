# A stage of a service, as stage.c: the mutex is a threading.RLock.
import os
import sys
import threading
import time


def compute(ms):
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        pass


def nap(ms):
    time.sleep(ms / 1000)


def call():
    os.write(out_w, b"x")
    if not os.read(out_r, 1):
        os._exit(0)


def handle():
    for phase in phases:
        name, _, ms = phase.partition(":")
        begun = time.time_ns()
        if name == "call":
            call()
        else:
            {"compute": compute, "nap": nap}[name](int(ms))
        log.write(f"{name} {begun} {time.time_ns()}\n")


def hold(lock):
    while True:
        ended.wait()
        with lock:
            begun.wait()
            handle()


def await_mutex(lock):
    with lock:
        pass


def await_request():
    if not os.read(in_r, 1):
        os._exit(0)


log = open(sys.argv[1], "w", buffering=1)
in_r, in_w, out_r, out_w = map(int, sys.argv[2:6])
locks = sys.argv[6] == "mutex"
phases = sys.argv[6 + locks:]
if locks:
    lock, begun, ended = threading.RLock(), threading.Barrier(2), threading.Barrier(2)
    threading.Thread(target=hold, args=(lock,), daemon=True).start()
while True:
    if in_r >= 0:
        await_request()
    if locks:
        ended.wait()
        begun.wait()
        await_mutex(lock)
    else:
        handle()
    if in_w >= 0:
        os.write(in_w, b"x")
