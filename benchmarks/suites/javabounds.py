# SPDX-License-Identifier: Apache-2.0
"""javabounds.py PRYWALK CLASSES JAVA: the bounds that async-profiler's own tests put on profiles, put on prywalk's.

CLASSES has the compiled classes of test/test/recovery and test/test/wall of async-profiler (javac -d CLASSES FILE…).
"""
import os
import re
import subprocess
import sys
import tempfile
import time

PRYWALK, CLASSES, JAVA = sys.argv[1:4]
RECORDING = os.path.join(tempfile.mkdtemp(), "bounds.pb.gz")
PLACES = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
BROKEN = r"\[incomplete|unknown|\?\?|\[freed\]|\[moved\]"


def folded(value):
    report = [PRYWALK, "report", "--folded", "--value", value, RECORDING]
    lines = subprocess.run(report, capture_output=True, text=True, check=True).stdout.splitlines()
    return [(stack, float(n)) for stack, n in (line.rsplit(" ", 1) for line in lines)]


def record(main, seconds, options, hz="1000"):
    p = subprocess.Popen([JAVA, *options, "-cp", CLASSES, main], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(4)  # as their tests: until the code is compiled
    run = [PRYWALK, "record", "-q", "-p", str(p.pid), "-d", f"{seconds}s", "-F", hz, "-o", RECORDING]
    failed = subprocess.run(run).returncode
    p.kill()
    p.wait()
    if failed:
        sys.exit(f"{main}: record ended with {failed}")
    return folded("cpu")


def share(stacks, expression):
    total = sum(n for _, n in stacks)
    return sum(n for s, n in stacks if re.search(expression, s)) / total if total else 0


def more(name, stacks, expression, bound):
    got = share(stacks, expression)
    print(f"{'held  ' if got > bound else 'FAILED'} {name}: {got:.4f} > {bound}")


def less(name, stacks, expression, bound):
    got = share(stacks, expression)
    print(f"{'held  ' if got < bound else 'FAILED'} {name}: {got:.4f} < {bound}")


def main():
    s = record("test.recovery.StringBuilderTest", 2, PLACES + ["-XX:UseAVX=2"])
    more("StringBuilder: main calls delete", s, r"StringBuilderTest\.main;([^;]*;)*?[^;]*StringBuilder\.delete", .8)
    more("StringBuilder: arraycopy", s, "arraycopy", .8)
    less("StringBuilder: broken", s, BROKEN, .005)

    s = record("test.recovery.Numbers", 2, PLACES)
    more("Numbers: main calls loop", s, r"Numbers\.main;[^;]*Numbers\.loop", .8)
    more("Numbers: loop calls avg", s, r"Numbers\.loop;[^;]*Numbers\.avg", .5)
    more("Numbers: stubs of virtual calls", s, r"vtable (stub|chunk)", .01)
    less("Numbers: broken", s, BROKEN, .005)

    s = record("test.recovery.Suppliers", 2, PLACES)
    more("Suppliers: main calls loop", s, r"Suppliers\.main;[^;]*Suppliers\.loop", .5)
    more("Suppliers: stubs of interface calls", s, r"itable (stub|chunk)", .01)
    less("Suppliers: broken", s, BROKEN, .005)

    s = record("test.recovery.CodingIntrinsics", 3, PLACES)
    less("intrinsics: unknown innermost frame", s, r"^[^;]*;[^;]*;(\[incomplete|\?\?)", .01)
    less("intrinsics: stacks of four frames", s, r"^[^;]+(;[^;]+){0,3}$", .01)
    less("intrinsics: broken", s, BROKEN, .01)

    s = record("test.recovery.TimeLoop", 3, PLACES, "100")
    less("currentTimeMillis: broken", s, BROKEN, .01)
    less("currentTimeMillis: vdso without a name", s, r"\[vdso\]", .01)

    s = record("test.wall.SocketTest", 3, [], "100")
    more("socket: CPU of main", s, r"SocketTest\.main", .25)
    more("socket: CPU of the busy client", s, r"BusyClient\.run", .25)
    less("socket: CPU of the idle client", s, r"IdleClient\.run", .05)
    wall = folded("wall")
    times = [sum(n for x, n in wall if k in x) for k in ("SocketTest.main", "BusyClient.run", "IdleClient.run")]
    # Theirs: within 5 samples of some 60.
    apart = (max(times) - min(times)) / max(times) if max(times) else 1
    print(f"{'held  ' if apart < .08 else 'FAILED'} socket: equal wall times: {apart:.4f} < 0.08")


if __name__ == "__main__":
    main()
