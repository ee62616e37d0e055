"""The main thread makes a sub-interpreter, and runs code of its own.

Up to 3.11 it keeps a state there that runs nothing, and whoever runs code there borrows that state. So "alone" is
written. From 3.12 on another thread runs code in the sub-interpreter, with a state in each, and "both" is written.
Where there are no sub-interpreters it is "none".
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
    both = sys.version_info >= (3, 12)
    if both:
        threading.Thread(target=outside, daemon=True).start()
    print("both" if both else "alone", flush=True)
    main()
