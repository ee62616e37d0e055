"""Threads with names, all of them asleep. Writes their numbers and names."""
import json
import sys
import threading
import time
import types

for n in range(1000):  # a large table of modules
    sys.modules["made_%d" % n] = types.ModuleType("made_%d" % n)


def run():
    time.sleep(1000)


class Worker(threading.Thread):
    """A thread with an attribute that no other one has."""

    def __init__(self, n):
        super().__init__(name="worker \u00e9 %d with a name beyond fifteen" % n, daemon=True)
        setattr(self, "own%d" % n, n)

    def run(self):
        time.sleep(1000)


started = [Worker(n) for n in range(30)]
started += [threading.Thread(target=run, daemon=True) for n in range(3)]
for t in started:
    t.start()
started[3].name = "renamed"
started[4].__dict__["x"] = 1
for n in range(40):
    setattr(started[5], "many%d" % n, n)
print(json.dumps({t.native_id: t.name for t in threading.enumerate()}), flush=True)
time.sleep(1000)
