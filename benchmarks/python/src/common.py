"""What the programs have in common: imported before all else.

With EDGES, the name of a file, a program notes who calls whom until SECONDS after it is ready, writes it there as JSON, and ends. Else it
appends the moment of the end of each piece of work to the file PIECES: 8 bytes, nanoseconds of CLOCK_MONOTONIC.
"""
import json
import os
import sys
import threading
import time
import types

MAKERS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR of inspect
edges = set()
pieces = None


def key(code):
    return os.path.basename(code.co_filename) + ":" + code.co_name


def note(frame):
    while frame:
        caller = frame.f_back
        edge = (key(caller.f_code) if caller else "", key(frame.f_code))
        if edge in edges:
            break
        edges.add(edge)
        frame = caller  # which may have begun before it could be noted


def note_callback(*_):
    note(sys._getframe(1))


def note_maker(code, offset, function, first):
    """Notes who makes a generator or a coroutine: its frame is made in a call of its own, which is no start of it."""
    made = getattr(getattr(function, "__func__", function), "__code__", None)
    if isinstance(made, types.CodeType) and made.co_flags & MAKERS:
        edges.add((key(code), key(made)))


def note_all():
    """Notes calls in all threads, from their first function on. A hook of sys.setprofile is called later."""
    monitor, events = sys.monitoring, sys.monitoring.events
    note(sys._getframe(1))
    monitor.use_tool_id(monitor.PROFILER_ID, "edges")
    for event in events.PY_START, events.PY_RESUME, events.PY_THROW:
        monitor.register_callback(monitor.PROFILER_ID, event, note_callback)
    monitor.register_callback(monitor.PROFILER_ID, events.CALL, note_maker)
    monitor.set_events(monitor.PROFILER_ID, events.PY_START | events.PY_RESUME | events.PY_THROW | events.CALL)


def write_edges():
    time.sleep(float(os.environ["SECONDS"]))
    while True:
        try:
            text = json.dumps(sorted(edges))
            break
        except RuntimeError:  # a thread has added one meanwhile
            pass
    with open(os.environ["EDGES"] + ".new", "w") as f:
        f.write(text)
    os.rename(os.environ["EDGES"] + ".new", os.environ["EDGES"])
    os._exit(0)


def ready(text=""):
    print("ready", text, flush=True)
    if "EDGES" in os.environ:
        threading.Thread(target=write_edges, daemon=True).start()


def done():
    if pieces is not None:
        os.write(pieces, time.monotonic_ns().to_bytes(8, sys.byteorder))


def repeat(step):
    """Does a step without end, each of them a piece of work."""
    step()
    ready()
    while True:
        step()
        done()


if "EDGES" in os.environ:
    note_all()
elif "PIECES" in os.environ:
    pieces = os.open(os.environ["PIECES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

# SPDX-License-Identifier: Apache-2.0
