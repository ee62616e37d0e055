# SPDX-License-Identifier: Apache-2.0
"""selfcheck.py PRYWALK FOLDER [--ok TEXT] [--modes p,m,d] [--jobs N] [--limit S]: programs that check themselves.

FOLDER has the built programs of a suite: rr's tests (--ok EXIT-SUCCESS; their headers are made by
src/generate_syscalls.py), the Open POSIX tests of LTP (those that end with 0; each is built with lib/common.c). Each
runs by itself; those that succeed run while recorded, and must succeed with the same output. Modes: p is --engine
ptrace, m the same with --max-pause 1ms, d the default engine.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

MODES = {"p": ["--engine", "ptrace"], "m": ["--engine", "ptrace", "--max-pause", "1ms"], "d": []}


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("prywalk", type=os.path.abspath)
    a.add_argument("folder", type=os.path.abspath)
    a.add_argument("--ok", default="", help="text of a successful program's output")
    a.add_argument("--modes", default="p,p,p,m,d")
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--limit", type=float, default=30, help="seconds of one run")
    return a.parse_args()


def run(a, name, mode):
    """Exit status, output and errors of the program by itself (mode ""), or recorded."""
    scratch = tempfile.mkdtemp(prefix="selfcheck-")
    work = os.path.join(scratch, "work")
    os.mkdir(work)
    command = [os.path.join(a.folder, name)]
    if mode:
        command = [a.prywalk, "record", "-q", "-F", "1000", *MODES[mode], "-o", scratch + "/r.pb.gz", "--", *command]
    with open(scratch + "/out", "w+b") as out, open(scratch + "/err", "w+b") as err:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=work,
                             start_new_session=True)
        try:
            status = p.wait(a.limit)
        except subprocess.TimeoutExpired:
            status = "over the limit"
        try:
            os.killpg(p.pid, signal.SIGKILL)  # what it has started
        except ProcessLookupError:
            pass
        p.wait()
        out.seek(0)
        err.seek(0)
        texts = out.read().decode("latin1"), err.read().decode("latin1")
    shutil.rmtree(scratch, ignore_errors=True)
    return status, *texts


def without_numbers(text):
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*", "N", text.replace("0x", ""))


def check(a, name):
    """What differs, by mode; None where the program fails by itself."""
    def fine(result):
        return result[0] == 0 and a.ok in result[1]
    alone = run(a, name, "")
    if not fine(alone):
        return name, None
    differ = []
    for mode in a.modes.split(","):
        watched = run(a, name, mode)
        if not fine(watched):
            differ.append(f"{mode}: ended with {watched[0]}: {(watched[1] + watched[2])[-500:]}")
        elif without_numbers(watched[1]) != without_numbers(alone[1]):
            differ.append(f"{mode}: another output: {watched[1][-300:]}")
    return name, differ


def main():
    a = arguments()
    names = sorted(n for n in os.listdir(a.folder) if os.access(os.path.join(a.folder, n), os.X_OK)
                   and os.path.isfile(os.path.join(a.folder, n)))
    unchanged = changed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for name, differ in pool.map(lambda n: check(a, n), names):
            if differ is None:
                failed += 1
            elif differ:
                changed += 1
                print(name, *differ, sep="\n    ", flush=True)
            else:
                unchanged += 1
    print(f"{unchanged} of {unchanged + changed} programs unchanged; {failed} fail by themselves")
    return changed > 0


if __name__ == "__main__":
    sys.exit(main())
