"""Processes and threads that end in other ways than most. The argument says how; the line that is written has the number
of the process to look at.

forked: a child of the main thread. forked-untold: one that the interpreter is not told of, as those of uWSGI.
forked-thread: a child of another thread, which is its main thread then.
killed: threads that the kernel ends, while the interpreter believes that they run. finalizing: an interpreter that ends,
with a thread that sleeps and one that computes.
"""
import ctypes
import os
import sys
import threading
import time
import warnings

warnings.simplefilter("ignore")  # it is told of forks of processes with threads


def leaf():
    n = 0
    for i in range(2000):
        n += i * i


def works():
    while True:
        leaf()


def child():
    os.write(1, b"%d\n" % os.getpid())
    works()


def forks(fork=os.fork):
    if fork() == 0:
        child()
    while True:
        time.sleep(1)


def sleeps():
    while True:
        time.sleep(0.01)


def is_killed():
    ctypes.CDLL(None).syscall(60, 0)  # SYS_exit of x86-64: this thread only


class Last:
    def __del__(self):
        child()


def finalizes():
    threading.Thread(target=sleeps, daemon=True).start()
    threading.Thread(target=works, daemon=True).start()
    ctypes.last_of_all = Last()  # it goes when the interpreter does


how = sys.argv[1]
if how == "forked":
    threading.Thread(target=sleeps, daemon=True).start()
    forks()
elif how == "forked-untold":
    forks(ctypes.CDLL(None).fork)
elif how == "forked-thread":
    threading.Thread(target=forks, daemon=True).start()
    sleeps()
elif how == "killed":
    for _ in range(20):
        threading.Thread(target=is_killed, daemon=True).start()
    threading.Thread(target=works, daemon=True).start()
    child()
else:
    finalizes()
