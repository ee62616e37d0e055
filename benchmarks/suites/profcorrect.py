# SPDX-License-Identifier: Apache-2.0
"""profcorrect.py PRYWALK SUITE OUT ANALYZER PYTHON SCENARIO...: CPU and wall scenarios of DataDog/prof-correctness.

SUITE is its folder, ANALYZER its built program, PYTHON an interpreter with the packages that the scenarios import. The
calls of Datadog's own profiler are taken out of a copy of the scenario, prywalk records it, and their analyzer judges
the OTLP that `report --otlp` writes. SECS and HZ in the environment set length and rate, PYTHONS the path of other
releases ({} is the release).
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

CLOCKS = {"cpu-time": "cpu", "wall-time": "wall"}
RELEASES = {"python_basic_idle_3.10": "3.10.13", "python_cpu_sleep_sync_3.12": "3.12.1"}
RUBY_SETUP = re.compile(r"class ExportToFile.*?Datadog::Profiling\.wait_until_running\n", re.S)
RUBY_CALLS = re.compile(r"Datadog|datadog")
PYTHON_CALLS = re.compile(r"ddtrace\.|import ddtrace|from ddtrace|Profiler\(\)|prof\.(start|stop)|^prof:|global prof")


def expectations(scenario, to):
    """Their expectations, in prywalk's words. Returns how many there are."""
    with open(scenario + "/expected_profile.json") as f:
        expected = json.load(f)
    count = 0
    for stack in expected["stacks"]:
        stack["profile-type"] = CLOCKS.get(stack["profile-type"], stack["profile-type"])
        stack.pop("pprof-regex", None)
        for c in stack["stack-content"]:
            # Theirs begin at the interpreter's first frame and end at its last: prywalk's have native frames, too.
            c["regular_expression"] = re.sub(r"^;", "", c["regular_expression"])
            c["regular_expression"] = re.sub(r"^\^", "(^|;)", re.sub(r"\$$", "(;|$)", c["regular_expression"]))
            labels = [k for k in c.pop("labels", []) if k["key"] not in ("os thread id", "task name")]
            for label in labels:
                label["values"] = ["MainThread" if v == "Main Thread" else v for v in label.get("values", [])]
            if labels:
                c["labels"] = labels
            count += 1
    expected.pop("pprof-regex", None)
    expected.pop("allow_first_profile_failure", None)
    with open(to, "w") as f:
        json.dump(expected, f)
    return count


def seconds(scenario):
    """The scenario's own time, where it expects absolute values."""
    with open(scenario + "/expected_profile.json") as f:
        expected = json.load(f)
    absolute = any("value" in c for s in expected["stacks"] for c in s["stack-content"])
    if absolute and not expected.get("scale_by_duration"):
        if m := re.search(r'EXECUTION_TIME_SEC[= ]"?(\d+)', open(scenario + "/Dockerfile").read()):
            return int(m[1])
    return int(os.environ.get("SECS", "20"))


def without_profiler(folder):
    for name in os.listdir(folder):
        calls = {".rb": RUBY_CALLS, ".py": PYTHON_CALLS}.get(os.path.splitext(name)[1])
        if calls:
            path = os.path.join(folder, name)
            text = RUBY_SETUP.sub("", open(path).read())
            with open(path, "w") as f:
                f.write("\n".join(line for line in text.split("\n") if not calls.search(line)))


def command(name, python):
    if name in RELEASES and "PYTHONS" in os.environ:
        python = os.environ["PYTHONS"].format(RELEASES[name])
    for word, how in (("fastapi", [python, "-m", "uvicorn", "main:app", "--host", "127.0.0.1", "--port", "8000"]),
                      ("flask", [python, "-m", "flask", "run", "--host=127.0.0.1", "--port=8000"]),
                      ("gunicorn", [python, "-m", "gunicorn", "-b", "127.0.0.1:8000", "main:app"]),
                      ("uwsgi", [os.path.join(os.path.dirname(python), "uwsgi"), "--ini", "uwsgi.ini"]),
                      ("node", ["node", "main.js"]), ("ruby", ["ruby", "main.rb"]), ("ddprof", ["./a.out"])):
        if word in name:
            return how
    return [python, "main.py"]


def run(prywalk, suite, out, analyzer, python, name):
    scenario, folder = f"{suite}/scenarios/{name}", f"{out}/{name}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(scenario, folder)
    os.makedirs(folder + "/prof")
    count = expectations(scenario, folder + "/expected.json")
    without_profiler(folder)
    secs = seconds(scenario)
    env = dict(os.environ, EXECUTION_TIME_SEC=str(secs), DD_TRACE_ENABLED="false")
    env["PATH"] = os.path.dirname(python) + ":" + env["PATH"]
    record = [prywalk, "record", "-q", "-F", os.environ.get("HZ", "199"), "-d", f"{secs + 10}s", "-o", "x.pb.gz", "--"]
    with open(folder + "/stdout", "w") as o, open(folder + "/stderr", "w") as e:
        p = subprocess.Popen(record + command(name, python), cwd=folder, env=env, stdout=o, stderr=e,
                             start_new_session=True)
        try:
            status = p.wait(secs + 40)
        except subprocess.TimeoutExpired:
            status = "over the limit"
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
    subprocess.run([prywalk, "report", "--otlp", "prof/profile.otlp", "x.pb.gz"], cwd=folder, capture_output=True)
    judge = [analyzer, "-expectedJson", "expected.json", "-pprofPath", "prof"]
    a = subprocess.run(judge, cwd=folder, capture_output=True, text=True)
    with open(folder + "/analysis", "w") as f:
        f.write(a.stdout + a.stderr)
    print(f"{name}: {count} expectations, analyzer ended with {a.returncode}, record with {status}", flush=True)


def main():
    prywalk, suite, out, analyzer, python = (os.path.abspath(x) for x in sys.argv[1:6])
    for name in sys.argv[6:]:
        run(prywalk, suite, out, analyzer, python, name)


if __name__ == "__main__":
    main()
