"""One thread keeps the interpreter's lock in a call of C; the others wait for it."""
import ctypes
import select
import threading

keeping = ctypes.PyDLL(None)  # its calls do not let go of the lock


spinning = []


def spin():
    spinning.append(True)
    while True:
        pass


for i in range(3):
    threading.Thread(target=spin, name="spinner %d" % i, daemon=True).start()
while len(spinning) < 3:
    select.select([], [], [], 0.01)  # unlike time.sleep, not the call of below
print("ready", flush=True)
keeping.sleep(1000)
