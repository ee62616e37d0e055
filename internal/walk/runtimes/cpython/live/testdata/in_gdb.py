"""A chain of calls through gdb: Python, a command of gdb, and Python again."""
import gdb


def leaf():
    n = 0
    for i in range(2000):
        n += i * i


def invoked():
    leaf()


class Step(gdb.Command):
    def __init__(self):
        super().__init__("step-in-python", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        invoked()


def first():
    gdb.execute("step-in-python")


Step()
print("ready", flush=True)
while True:
    first()
