# The main thread is in threading._active by another key, as gevent enters it.
import threading, time
threading._active[id(threading)] = threading._active.pop(threading.get_ident())
print("ready", flush=True)
while True:
    time.sleep(600)
