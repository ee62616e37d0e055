"""Makes functions without end, each named by a number, calls them and frees them.

A function and the one that it calls have the same number in their names and in the name of their file. The number that
runs is also in a counter in memory, whose address the program writes.
"""
import ctypes

counter = ctypes.c_uint64(0)
print(ctypes.addressof(counter), flush=True)

SOURCE = """
def outer_%d():
    inner_%d()
    return 1
def inner_%d():
    n = 0
    for i in range(500):
        n += i
"""


def forever():
    n = 0
    while True:
        n += 1
        scope = {}
        exec(compile(SOURCE % (n, n, n), "<%d>" % n, "exec"), scope)
        scope["inner_%d" % n] = scope["inner_%d" % n]
        counter.value = n
        scope["outer_%d" % n]()
        scope.clear()


forever()
