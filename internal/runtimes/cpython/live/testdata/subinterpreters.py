"""A thread runs Python code in a sub-interpreter that the main thread has made, while the main thread runs its own.

Up to 3.11 the main thread keeps a state in the sub-interpreter, which runs nothing; the other thread has one in each.
Writes "ready", or "none" where there are no sub-interpreters.
"""
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
    threading.Thread(target=outside, daemon=True).start()
    print("ready", flush=True)
    main()
