# SPDX-License-Identifier: Apache-2.0
"""cpythonoracle.py PRYWALK FOLDER SECONDS PYTHON...: stacks of Python that cannot be, as CPython's oracle knows them.

FOLDER is Tools/inspection of CPython's sources: its snippets.py has programs, each with a function that says whether a
stack is impossible. Each runs under each PYTHON and is recorded at 1,000 Hz with both engines.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile
import time

Location = collections.namedtuple("Location", "lineno")
Frame = collections.namedtuple("Frame", "funcname location filename")


def frame(text):
    """A frame of `report --folded --lines`: NAME FILE:LINE."""
    m = re.match(r"(.*) (\S+|<[^>]*>):(\d+)$", text)
    return Frame(m[1].split(".")[-1], Location(int(m[3])), m[2]) if m else Frame(text, None, "")


def stacks(prywalk, recording):
    report = [prywalk, "report", "--folded", "--lines", "--value", "samples", recording]
    for line in subprocess.run(report, capture_output=True, text=True).stdout.splitlines():
        stack, count = line.rsplit(" ", 1)
        yield stack.split(";"), float(count)


def run(prywalk, python, engine, code, classify, seconds):
    with tempfile.TemporaryDirectory() as scratch:
        program, recording = scratch + "/t.py", scratch + "/r.pb.gz"
        with open(program, "w") as f:
            f.write(code)
        p = subprocess.Popen([python, program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        record = [prywalk, "record", "-q", "-p", str(p.pid), "-d", f"{seconds}s", "-F", "1000", "--engine", engine]
        said = subprocess.run(record + ["-o", recording], capture_output=True, text=True)
        p.kill()
        p.wait()
        if said.returncode:
            return 0, 0, said.stderr[-200:]
        total, bad, worst = 0, 0, collections.Counter()
        for frames, count in stacks(prywalk, recording):
            total += count
            if classify([frame(f) for f in reversed(frames)]):
                bad += count
                worst[";".join(frames)] += count
        return total, bad, worst.most_common(1)


def main():
    prywalk, folder, seconds = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    sys.path.insert(0, folder)
    import snippets  # of CPython's sources
    for python in sys.argv[4:]:
        for engine in ("ptrace", "auto"):
            for name, case in snippets.CASES.items():
                if case[1] is None or len(case) > 2:  # no such function, or one for asyncio's tasks
                    continue
                total, bad, worst = run(prywalk, python, engine, *case[:2], seconds)
                print(f"{python} {engine} {name}: {total:.0f} stacks, {bad:.0f} impossible {worst}", flush=True)


if __name__ == "__main__":
    main()
