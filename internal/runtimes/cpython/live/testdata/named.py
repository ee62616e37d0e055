"""Threads with names, each asleep or spinning. Writes their numbers and names."""
import json, sys, threading, time
def run(): time.sleep(1000)
class Worker(threading.Thread):
    """A thread with more attributes than its class has seen first."""
    def __init__(self, n):
        super().__init__(name="worker é %d with a name beyond fifteen" % n, daemon=True)
        setattr(self, "own%d" % n, n)
    def run(self):
        time.sleep(1000)
started = [Worker(n) for n in range(30)]
started += [threading.Thread(target=run, daemon=True) for n in range(3)]
for t in started: t.start()
started[3].name = "renamed"
started[4].__dict__["x"] = 1
for n in range(40): setattr(started[5], "many%d" % n, n)
print(json.dumps({t.native_id: t.name for t in threading.enumerate()}), flush=True)
time.sleep(1000)
