# What a program in PyPy does when its loops are compiled: calls, recursion, generators, exceptions, callbacks from C,
# text, large numbers, and objects enough for the garbage collector.
import re
import sys

from cffi import FFI

ffi = FFI()
ffi.cdef("void oracle_mark(void); void qsort(void *, size_t, size_t, int (*)(const void *, const void *));")
mark = ffi.dlopen(sys.argv[1])
libc = ffi.dlopen(None)


@ffi.callback("int(const void *, const void *)")
def by_value(a, b):
    a, b = ffi.cast("long *", a)[0], ffi.cast("long *", b)[0]
    return (a > b) - (a < b)


def numbers(n):
    return n if n < 2 else numbers(n - 1) + numbers(n - 2)


def counted(n):
    for i in range(n):
        yield i * 7919 % 101


def fails(n):
    if n == 0:
        raise ValueError("deep")
    return fails(n - 1) + 1


class Node:
    def __init__(self, key, left, right):
        self.key, self.left, self.right = key, left, right


def tree(depth):
    return Node(depth, tree(depth - 1), tree(depth - 1)) if depth else None


def work(i):
    seen = {}
    for v in counted(300):
        seen[f"{v:x}"] = seen.get(f"{v:x}", 0) + v * 0.5
    try:
        fails(5 + i % 3)
    except ValueError:
        pass
    some = ffi.new("long[]", [k * 37 % 11 for k in range(8)])
    libc.qsort(some, 8, 8, by_value)
    tree(6)
    return numbers(9), sum(seen.values()), re.sub("[ab]+", "-", " ".join(seen)), 3 ** (200 + i % 7) % 10007


for i in range(400):
    work(i)
while True:
    mark.oracle_mark()
    for k in range(4):
        work(k)
