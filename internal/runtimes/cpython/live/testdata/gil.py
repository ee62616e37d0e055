"""One thread keeps the interpreter's lock in a call of C; the others wait for it."""
import ctypes
import threading
import time

keeping = ctypes.PyDLL(None)  # its calls do not let go of the lock


spinning = []


def spin():
    spinning.append(True)
    while True:
        pass


for i in range(3):
    threading.Thread(target=spin, name="spinner %d" % i, daemon=True).start()
while len(spinning) < 3:
    time.sleep(0.01)
print("ready", flush=True)
keeping.sleep(1000)
