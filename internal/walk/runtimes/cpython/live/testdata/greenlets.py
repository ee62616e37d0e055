"""Greenlets in known states: prints the frames of each by its address, [function, line], then sleeps, or with "busy"
switches to each of them again and again."""
import json
import sys
import time

import greenlet


def leaf(n):
    while True:
        hub.switch(n)


def nest(depth, n):
    return nest(depth - 1, n) if depth else leaf(n)


def through_c(n):
    return sorted([1, 2], key=lambda _: leaf(n))


def generator(n):
    yield leaf(n)


class Derived(greenlet.greenlet):
    pass


def run(n):
    if n % 4 == 0:
        leaf(n)
    elif n % 4 == 1:
        nest(n % 50, n)
    elif n % 4 == 2:
        through_c(n)
    else:
        list(generator(n))


def frames(g):
    stack, f = [], g.gr_frame
    while f:
        stack.append([getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_lineno])
        f = f.f_back
    return stack


def main():
    others = [greenlet.greenlet(run), greenlet.greenlet(lambda: 1)]  # not begun, ended
    others[1].switch()
    every = [(Derived if n % 3 else greenlet.greenlet)(run) for n in range(int(sys.argv[1]))]
    for n, g in enumerate(every):
        g.parent = hub
        g.switch(n)
    print(json.dumps({id(g): frames(g) for g in every + [hub.parent]}), flush=True)
    while len(sys.argv) > 2:
        for g in every:
            g.switch()
    time.sleep(3600)


hub = greenlet.greenlet(main)
hub.switch()
