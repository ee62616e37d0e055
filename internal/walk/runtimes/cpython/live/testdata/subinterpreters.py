"""The main thread makes a sub-interpreter, and runs code of its own.

Up to 3.12 it keeps a state there, and whoever runs code there borrows that one. Before 3.12 that one is not asked to
let go of the lock. So "alone" is written, and nobody does. Else another thread runs code in the sub-interpreter, and
"borrowed" is written, or, from 3.13 on, "both". Where there are no sub-interpreters it is "none".
"""
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None

INSIDE = """
def inside_leaf():
    n = 0
    for i in range(2000):
        n += i * i
def inside():
    while True:
        inside_leaf()
inside()
"""


def outside():
    run = getattr(interpreters, "exec", None) or interpreters.run_string
    run(number, INSIDE)


def main_leaf():
    n = 0
    for i in range(2000):
        n += i * i


def main():
    while True:
        main_leaf()


if interpreters is None:
    print("none", flush=True)
else:
    number = interpreters.create()
    if sys.version_info >= (3, 12):
        threading.Thread(target=outside, daemon=True).start()
    print("both" if sys.version_info >= (3, 13) else "borrowed" if sys.version_info >= (3, 12) else "alone", flush=True)
    main()
