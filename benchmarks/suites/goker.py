# SPDX-License-Identifier: Apache-2.0
"""goker.py PRYWALK GOROOT OUT [NAME...]: goroutines of GoKer's programs, beside the text of Go's run-time system.

GoKer's programs, and some simple ones, are in src/runtime/testdata/testgoroutineleakprofile below GOROOT (Go 1.26 or
later), which this script builds. Each runs with a full pipe as its output, so that it blocks where it writes its own
profile of leaked goroutines; prywalk reads it there; then the profile is read from the pipe. OUT gets what both said.
Goroutines that are not leaked run on between the profile and the dump: they can have ended or moved.
"""
import collections
import fcntl
import json
import os
import re
import subprocess
import sys
import time

F_SETPIPE_SZ = 1031  # linux/fcntl.h
HIDDEN = re.compile(r"^runtime\.(?![A-Z])")  # Go's text has no frames of these functions
WRAPPER = re.compile(r"(\.gowrap\d+|-fm)$")  # nor of these


def build(goroot, out):
    """The two programs, as Go's own test builds them."""
    source = os.path.join(goroot, "src/runtime/testdata/testgoroutineleakprofile")
    programs = {}
    for name, folder in (("simple", source), ("goker", source + "/goker")):
        programs[name] = os.path.join(out, name)
        env = dict(os.environ, GOEXPERIMENT="goroutineleakprofile", GOFLAGS="")
        go = os.path.join(goroot, "bin/go")
        subprocess.run([go, "build", "-o", programs[name], "."], cwd=folder, env=env, check=True)
    return programs


def cases(goroot, programs):
    """Name, program, and whether it needs one P, from the table of Go's test."""
    text = open(os.path.join(goroot, "src/runtime/goroutineleakprofile_test.go")).read()
    part = ""
    for m in re.finditer(r'(\w+TestCases|microTests) := \[\]|make(Flaky)?Test\("(\w+)"', text):
        if m[1]:
            part = m[1]
        elif m[3] != "Kubernetes1321":  # it writes no profile
            yield m[3], programs["goker" if part.startswith("goker") else "simple"], not m[2]


def full_pipe():
    r, w = os.pipe()
    fcntl.fcntl(w, F_SETPIPE_SZ, 4096)
    os.set_blocking(w, False)
    try:
        while True:
            os.write(w, b"#" * 4096)
    except BlockingIOError:
        os.set_blocking(w, True)
    return r, w


def blocked_in_write(pid):
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            if open(f"/proc/{pid}/task/{thread}/syscall").read().startswith("1 0x1 "):
                return True
        except OSError:
            pass  # it has ended
    return False


def rest_of(r):
    """What comes from the pipe until it is quiet: of several profiles the first counts."""
    data, quiet = b"", time.time() + 1.5
    os.set_blocking(r, False)
    while time.time() < quiet and len(data) < 20_000_000:
        try:
            piece = os.read(r, 65536)
        except BlockingIOError:
            time.sleep(0.02)
            continue
        if not piece:
            break
        data, quiet = data + piece, time.time() + 1.5
    return data.lstrip(b"#").decode(errors="replace")


def run(prywalk, out, name, program, single):
    r, w = full_pipe()
    env = dict(os.environ, GODEBUG="asyncpreemptoff=1")
    if single:
        env["GOMAXPROCS"] = "1"
    p = subprocess.Popen([program, name], stdout=w, stderr=subprocess.DEVNULL, env=env)
    os.close(w)
    limit = time.time() + 40
    while time.time() < limit and p.poll() is None and not blocked_in_write(p.pid):
        time.sleep(0.05)
    time.sleep(0.5)  # the goroutines that are not leaked come to rest
    dump = [prywalk, "dump", "-p", str(p.pid), "--json"]
    d = subprocess.run(dump, capture_output=True, text=True)
    locks = subprocess.run(dump + ["--locks"], capture_output=True, text=True)
    text = rest_of(r)
    p.kill()
    p.wait()
    os.close(r)
    for kind, content in (("truth", text), ("dump.json", d.stdout), ("locks.json", locks.stdout)):
        with open(f"{out}/{name}.{kind}", "w") as f:
            f.write(content)
    if d.returncode != 0:
        print(f"{name}: no dump: {d.stderr[-300:]}")


def function(line):
    """A line of the text without its arguments: the last balanced parentheses."""
    depth, end = 0, len(line) - 1
    while end >= 0:
        depth += (line[end] == ")") - (line[end] == "(")
        if depth == 0:
            return line[:end]
        end -= 1
    return line


def truth(text):
    found = {}
    for block in re.split(r"\n\n(?=goroutine )", text.strip()):
        lines = block.split("\n")
        m = re.match(r"goroutine (\d+) .*?\[(.*)\]:$", lines[0])
        if not m or int(m[1]) in found:
            continue
        g = {"reason": m[2], "frames": [], "created": "", "parent": 0}
        for what, where in zip(lines[1::2], lines[2::2]):
            at = re.match(r".*:(\d+)", where)
            if not at:
                break
            if c := re.match(r"created by (.*?)(?: in goroutine (\d+))?$", what):
                g["created"], g["parent"] = c[1], int(c[2] or 0)
            else:
                g["frames"].append((function(what), int(at[1])))
        found[int(m[1])] = g
    return found


def compare(out, name, total, differ):
    theirs = truth(open(f"{out}/{name}.truth").read())
    line = open(f"{out}/{name}.dump.json").readline()
    if not theirs or not line:
        differ.append((name, "no profile" if line else "no dump"))
        return
    total["programs"] += 1
    dump = json.loads(line)
    ours = {g["id"]: g for g in dump.get("goroutines", [])}
    for t in dump["threads"]:
        if t.get("goroutine"):
            ours.setdefault(t["goroutine"], {"status": "running", "frames": t["frames"]})
    for number, g in theirs.items():
        leaked = "(leaked)" in g["reason"]
        total["goroutines"] += 1
        total["leaked, by Go"] += leaked
        o = ours.get(number)
        if o is None:
            total["leaked and missing" if leaked else "not leaked, ended before the dump"] += 1
            continue
        total["leaked, by prywalk"] += o["status"] == "leaked"
        total["leaked by one only"] += (o["status"] == "leaked") != leaked
        reason = g["reason"].replace(" (leaked)", "").split(",")[0].strip()
        want = [f for f in g["frames"] if not HIDDEN.match(f[0])]
        have = [(f.get("function", ""), f.get("line", 0)) for f in o["frames"]]
        have = [f for f in have if not HIDDEN.match(f[0])]
        bare = [f for f in have if not WRAPPER.search(f[0])]
        same = want in (have, bare) and (o.get("wait") or o["status"]) == reason
        if "created_by" in o:
            same = same and (o["created_by"] or "") == g["created"]
            same = same and (not g["parent"] or o.get("parent") == g["parent"])
        if same:
            total["leaked, all equal" if leaked else "not leaked, all equal"] += 1
        else:
            total["leaked and different" if leaked else "not leaked, moved"] += 1
            if leaked:
                differ.append((name, number, g, o.get("wait"), have))


def locks(out, name, total):
    line = open(f"{out}/{name}.locks.json").readline()
    if not line:
        return
    said = json.loads(line)
    mutexes = [w for w in said.get("goroutine_locks") or [] if "utex" in w["kind"]]
    total[f"verdict {said['verdict']}"] += 1
    total["waits for a mutex"] += len(mutexes)
    total["of these with an owner"] += sum(1 for w in mutexes if w.get("likely_owners"))
    if mutexes and not any(w.get("likely_owners") for w in mutexes):
        total["programs without any owner"] += 1


def main():
    prywalk, goroot, out = (os.path.abspath(a) for a in sys.argv[1:4])
    os.makedirs(out, exist_ok=True)
    total, differ = collections.Counter(), []
    for name, program, single in cases(goroot, build(goroot, out)):
        if not sys.argv[4:] or name in sys.argv[4:]:
            run(prywalk, out, name, program, single)
            compare(out, name, total, differ)
            locks(out, name, total)
    for what, count in total.items():
        print(f"{count:8} {what}")
    for d in differ[:20]:
        print(*d)
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
