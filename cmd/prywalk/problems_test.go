// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/exit"
	"prywalk/internal/testtargets"
)

// problems are programs that stand in one problem from the line "ready" on, and what the first screen says.
var problems = []struct {
	name, program string
	command       string // without -p; "": record, whose first line is the conclusion
	want          string
}{
	{"a lock is held over a slow call", `
lock, held = threading.Lock(), threading.Event()
def pay():
    with lock:
        held.set()
        time.sleep(3600)
run("holder", pay); held.wait()
for i in range(4): run("waiter", pay)
`, "", "mostly waiting: 4 threads for threading.Lock in pay (app.py), likely held by holder (sleeps)"},
	{"a peer does not answer", `
server = socket.create_server(("127.0.0.1", 0))
def query():
    socket.create_connection(server.getsockname()).recv(1)
for i in range(3): run("client", query)
`, "", "mostly waiting: 3 threads in recvfrom (127.0.0.1:"},
	{"a wake-up was lost", `
ready = threading.Condition()
def take_job():
    with ready: ready.wait()
for i in range(2): run("consumer", take_job)
`, "", "mostly waiting: 2 threads for threading.Condition in take_job (app.py)"},
	{"tasks of a pool wait for its other tasks", `
pool = concurrent.futures.ThreadPoolExecutor(2)
started = threading.Barrier(3)
def outer():
    started.wait()
    pool.submit(len, "x").result()
for i in range(2): pool.submit(outer)
started.wait()
`, "dump --locks", "1 POSSIBLY STARVED POOL"},
	{"two threads take two locks in different order", `
a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def transfer(one, two):
    with one:
        both.wait()
        with two: pass
run("east", transfer, a, b); run("west", transfer, b, a)
`, "dump --locks", "1 POSSIBLE DEADLOCK"},
	{"a child does not end", `
child = subprocess.Popen(["sleep", "3600"])
def build(): child.wait()
run("build", build)
`, "", "in build (app.py), for threads or child processes"},
	{"a file's lock is taken", `
path = sys.argv[0] + ".lock"
first, second = open(path, "w"), open(path, "w")
fcntl.flock(first, fcntl.LOCK_EX)
def save(): fcntl.flock(second, fcntl.LOCK_EX)
run("save", save)
`, "", "in save (app.py)"},
	{"nothing is wrong", `
def serve(): selectors.DefaultSelector().select()
run("loop", serve)
`, "", "mostly asleep: "},
}

const problemHead = `import concurrent.futures, fcntl, selectors, socket, subprocess, sys, threading, time
def run(name, f, *args): threading.Thread(target=f, args=args, name=name, daemon=True).start()
`

// problemEnd waits until all threads but the main one are asleep.
const problemEnd = `
def asleep(tid):
    with open("/proc/self/task/%s/stat" % tid) as f: return f.read().rsplit(")", 1)[1].split()[0] == "S"
import os
me = str(threading.get_native_id())
while not all(asleep(t) for t in os.listdir("/proc/self/task") if t != me): os.sched_yield()
print("ready", flush=True)
time.sleep(3600)
`

func startProblem(t *testing.T, python, program string) int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app.py")
	if err := os.WriteFile(file, []byte(problemHead+program+problemEnd), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, file)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	testtargets.Ready(t, cmd)
	t.Cleanup(func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }) // its child, too
	return cmd.Process.Pid
}

func TestTheFirstScreenNamesTheProblem(t *testing.T) {
	python := testtargets.NeedProgram(t, "python3")
	for _, c := range problems {
		t.Run(c.name, func(t *testing.T) {
			pid := strconv.Itoa(startProblem(t, python, c.program))
			args := []string{"record", "-d", "0.5"}
			if c.command != "" {
				args = strings.Fields(c.command)
			}
			p := start(t, t.TempDir(), nil, append(args, "-p", pid)...)
			if code := p.code(t); code != exit.OK {
				t.Fatalf("exit code %d: %s", code, &p.err)
			}
			screen := strings.SplitN(p.out.String()+p.err.String(), "\n", 3)
			if first := strings.Join(screen[:min(2, len(screen))], "\n"); !strings.Contains(first, c.want) {
				t.Errorf("want %q on the first screen:\n%s%s", c.want, &p.out, &p.err)
			}
		})
	}
}
