# SPDX-License-Identifier: Apache-2.0
"""cores.py PRYWALK FOLDER [FILES]: cores of other projects' suites, beside gdb.

FOLDER has cores, packed (.zst, .bz2, .gz, .xz) or not: elfutils' tests (backtrace.*.core.bz2) or drgn's
tests/resources (crashme.core.zst). FILES has the programs and libraries that wrote them, with their paths; else FOLDER
itself. Prints each thread whose functions differ.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

UNPACK = {".zst": "zstd", ".bz2": "bzip2", ".gz": "gzip", ".xz": "xz"}


def cores(folder, scratch):
    for path, _, names in os.walk(folder):
        for name in sorted(names):
            whole = os.path.join(path, name)
            stem, kind = os.path.splitext(name)
            if kind in UNPACK and "core" in stem:
                to = os.path.join(scratch, stem)
                with open(to, "wb") as f:
                    subprocess.run([UNPACK[kind], "-dc", whole], stdout=f, check=True)
                yield to
                os.unlink(to)
            elif "core" in name and open(whole, "rb").read(18)[:4] == b"\x7fELF":
                yield whole


def ours(prywalk, core, files):
    d = subprocess.run([prywalk, "dump", "--core", core, "--sysroot", files, "--json"], capture_output=True, text=True)
    if not d.stdout:
        return None, d.stderr[-300:]
    threads = json.loads(d.stdout.splitlines()[0])["threads"]
    return {t["tid"]: ([f.get("function", "") for f in t["frames"]], t["stop_reason"]) for t in threads}, ""


def program(core, files):
    """The first mapped file of the core that is no library."""
    notes = subprocess.run(["eu-readelf", "-n", core], capture_output=True).stdout.decode(errors="replace")
    for path in re.findall(r"^ +[0-9a-f]+-[0-9a-f]+ [0-9a-f]+ \d+ +(/\S+)$", notes, re.M):
        if ".so" not in path and os.path.exists(files + path):
            return files + path
    return ""


def theirs(core, files):
    where, file = f"set sysroot {files}", program(core, files)
    run = ["gdb", "-q", "-batch", "-nx", "-iex", where, "-ex", "set backtrace past-main on",
           "-ex", "thread apply all backtrace", *([file] if file else []), core]
    found, tid = {}, 0
    for line in subprocess.run(run, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.splitlines():
        if m := re.match(r"Thread \d+ \(.*?LWP (\d+)\)", line):
            tid = int(m[1])
            found[tid] = []
        elif tid and (m := re.match(r"#\d+ +(?:0x[0-9a-f]+ in )?([^ (]+)", line)):
            found[tid].append(m[1])
    return found


def main():
    prywalk, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    files = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else folder
    counts = {"equal": 0, "different": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as scratch:
        for core in cores(folder, scratch):
            mine, why = ours(prywalk, core, files)
            if mine is None:
                counts["refused"] += 1
                print(f"refused {os.path.basename(core)}: {why.strip()}")
                continue
            gdb = theirs(core, files)
            for tid in sorted(mine.keys() | gdb.keys()):
                frames, stop = mine.get(tid, ([], "no such thread"))
                same = frames == gdb.get(tid, [])
                counts["equal" if same else "different"] += 1
                if not same:
                    print(f"{os.path.basename(core)} thread {tid}\n    prywalk  {frames} {stop}")
                    print(f"    gdb      {gdb.get(tid)}")
    print(counts)


if __name__ == "__main__":
    main()
