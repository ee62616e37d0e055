"""A program that knows its own chain of calls.

Each function has one caller and one place of call, so that the functions on the stack of a thread are always the first
ones of one list. Many calls go through C. Arguments: how a thread spends its time at the end of the chain (spin or
sleep), and the number of threads besides the main one. After the first chain the program writes the list, as the
interpreter itself gives it: for each function its name and the line of its call.
"""
import functools
import json
import re
import sys
import threading
import time

try:
    import ctypes
except ImportError:  # as where an interpreter was built without libffi
    ctypes = None

how = sys.argv[1]
threads = int(sys.argv[2])
told = False
main = threading.get_ident()
text = ""  # of the list, until it is written


def tell():
    global told, text
    told = True
    chain, f = [], sys._getframe(1)
    while f is not None:
        code = f.f_code
        chain.append([getattr(code, "co_qualname", code.co_name), f.f_lineno])
        f = f.f_back
    for n in range(threads):  # when the list is written, all of them have begun
        threading.Thread(target=forever, daemon=True, name="worker-%d" % n).start()
    text = json.dumps(chain[::-1])


def leaf():
    if not told:
        tell()
    if how == "sleep":
        time.sleep(0.05)
    else:
        n = 0
        for i in range(40):
            n += i * i


def recurse(depth):
    if depth:
        return recurse_more(depth)
    return leaf()


def recurse_more(depth):
    return recurse(depth - 1)


class Slots:
    __slots__ = ()

    def __getattr__(self, name):
        return recurse(6)


def attribute(x):
    return Slots().absent


def from_c(x):
    attribute(x)
    return 0


if ctypes:
    from_c = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(from_c)


def through_ctypes():
    return from_c(1)


class Made:
    def __init__(self):
        self.value = through_ctypes()


def makes():
    return Made()


def in_handler():
    try:
        raise ValueError
    except ValueError:
        makes()
    finally:
        pass


class Manager:
    __enter__ = int

    def __exit__(self, *exc):
        return in_handler()


def with_block():
    with Manager():
        pass


scope = {"with_block": with_block}
exec(compile("def made_by_exec():\n    return with_block()\n", "<made>", "exec"), scope)


COMPILED = compile("made_by_exec()", "<eval>", "eval")


def calls_made():
    return eval(COMPILED, scope)


async def inner_coroutine():
    calls_made()


async def middle_coroutine():
    return await inner_coroutine()


def drives():
    try:
        middle_coroutine().send(None)
    except StopIteration:
        pass


def generates():
    yield 1
    drives()
    yield 2


def delegates():
    yield from generates()


def consumes():
    for _ in delegates():
        pass


def unwinds():
    return list(map(lambda x: consumes(), [1]))


def compares(a):
    unwinds()
    return a


def sorts():
    return sorted([1], key=compares)


def comprehends():
    return {x: y for x in [1] for y in [sorts()]}


PATTERN = re.compile("x")


def replaces(match):
    comprehends()
    return ""


def substitutes():
    return PATTERN.sub(replaces, "ax")


def reduces(a, b):
    return substitutes()


def folds():
    return functools.reduce(reduces, [1, 2])


def partly(a, *rest, key=None):
    return folds()


class Call:
    def __call__(self, *args, **kwargs):
        return functools.partial(partly, 1, key=2)()


call = Call()


def first():
    return call(1, k=2)


def forever():
    global text
    while True:
        first()
        if text and threading.get_ident() == main:
            # Here, and not where it was made: whoever reads it may look at once, and this is a place of the chain.
            print(text, flush=True)
            text = ""


forever()
