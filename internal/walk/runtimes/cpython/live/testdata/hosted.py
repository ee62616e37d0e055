"""A chain of calls of which two go through C. With AGAIN it ends after a while, so that its host can begin anew."""
import os

import host


def leaf():
    n = 0
    for i in range(2000):
        n += i * i


def third():
    leaf()


def second():
    host.call(third)


def first():
    host.call(second)


def runs():
    if "TOLD" not in os.environ:
        print("ready", flush=True)
        os.environ["TOLD"] = "yes"  # also to the interpreters that follow
    while True:
        first()
        if "AGAIN" in os.environ:
            break


class Last:
    def __del__(self):
        leaf()


os.last_of_all = Last()  # it goes when the interpreter does
runs()
