"""A shop below gunicorn's gevent workers whose requests wait in known ways. UPSTREAM is an address that never answers.
/account has the requests by path, /stacks the frames of each greenlet but its own by address, [function, line]."""
import gc
import json
import os
import urllib.request

import gevent
import greenlet
from gevent.lock import BoundedSemaphore, RLock
from gevent.queue import Queue

STOCK, CONNECTIONS, JOBS, inside = RLock(), BoundedSemaphore(1), Queue(), {}


def ask():
    return urllib.request.urlopen("http://%s/price" % os.environ["UPSTREAM"]).read()


def pay():
    with STOCK:
        inside["/pay"] = 1
        return ask()


def order():
    with STOCK:
        return b"ordered"


def price():
    return ask()


def report():
    gevent.sleep(3600)


def query():
    CONNECTIONS.acquire()
    return JOBS.get()


def stacks():
    all = {}
    for g in gc.get_objects():
        if isinstance(g, greenlet.greenlet) and g is not greenlet.getcurrent() and g.gr_frame:
            stack, f = [], g.gr_frame
            while f:
                stack.append([getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_lineno])
                f = f.f_back
            all[id(g)] = stack
    return all


def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/account":
        answer = json.dumps(inside).encode()
    elif path == "/stacks":
        answer = json.dumps(stacks()).encode()
    else:
        if path != "/pay":
            inside[path] = inside.get(path, 0) + 1
        answer = globals()[path[1:]]()
    start_response("200 OK", [("Content-Length", str(len(answer)))])
    return [answer]
