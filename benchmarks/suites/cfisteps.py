# SPDX-License-Identifier: Apache-2.0
"""cfisteps.py PRYWALK PROGRAM FUNCTION OUT [STEPS]: call frame information by hand, instruction by instruction.

PROGRAM is built from a suite that has such code (lldb's, gdb's, libunwind's tests). gdb runs it to FUNCTION, steps one
instruction at a time, and writes at each a core and its own backtrace; `dump --core` and eu-stack read the core.
"""
import json
import os
import re
import subprocess
import sys


def script(first, out, steps):
    lines = ["set pagination off", "set width 0", "set backtrace past-main on", f"break *{first}", "run > /dev/null"]
    for i in range(steps):
        lines += [f"echo ==STEP {i}\\n", "x/i $pc", "backtrace", f"generate-core-file {out}/core{i}", "stepi"]
    return "\n".join(lines + ["kill", "quit"])


def short(names):
    """__libc_start_main_impl and its kind by one name."""
    return [re.sub(r"^__(libc_start_\w+?)(_impl)?$", r"\1", n) for n in names]


def main():
    prywalk, program, first, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), *sys.argv[3:5]
    out = os.path.abspath(out)
    steps = int(sys.argv[5]) if len(sys.argv) > 5 else 14
    os.makedirs(out, exist_ok=True)
    with open(out + "/commands", "w") as f:
        f.write(script(first, out, steps))
    gdb = subprocess.run(["gdb", "-q", "-batch", "-nx", "-x", out + "/commands", program],
                         capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    equal = 0
    parts = gdb.split("==STEP ")[1:]
    for i, part in enumerate(parts):
        core = f"{out}/core{i}"
        if not os.path.exists(core):
            continue
        at = re.search(r"=> (.*)", part)
        want = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?([^ (]+)", part, re.M)
        d = subprocess.run([prywalk, "dump", "--core", core, "--json"], capture_output=True, text=True)
        have, stop = [d.stderr[-200:]], ""
        if d.stdout:
            thread = json.loads(d.stdout.splitlines()[0])["threads"][0]
            have, stop = [f.get("function", "??") for f in thread["frames"]], thread["stop_reason"]
        if short(have) == short(want):
            equal += 1
        else:
            e = subprocess.run(["eu-stack", "--core", core, "-e", program], capture_output=True, text=True)
            eu = re.findall(r"^#\d+ +0x[0-9a-f]+ ?(?:- 1 )?(\S*)", e.stdout, re.M)
            print(f"step {i} at {at[1][:60] if at else '?'}")
            print(f"    prywalk  {have} {stop}\n    gdb      {want}\n    eu-stack {eu}")
        os.unlink(core)
    print(f"{equal} of {len(parts)} steps equal gdb's")


if __name__ == "__main__":
    main()
