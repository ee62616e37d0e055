// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

type problem struct {
	name, program string
	command       string // without -p; "" means record, whose first line is the conclusion
	want          string
}

// problems are programs in Python that stand in one problem from the line "ready" on, and what the first screen says.
var problems = []problem{
	{"a lock is held over a slow call", `
lock, held = threading.Lock(), threading.Event()
def pay():
    with lock:
        held.set()
        time.sleep(3600)
run("holder", pay); held.wait()
for i in range(4): run("waiter", pay)
`, "", "mostly waiting: 4 threads for threading.Lock in pay (app.py), likely held by holder (sleeps)"},
	{"a call blocks an event loop", `
import asyncio
def read_config(): time.sleep(3600)
async def serve(): read_config()
run("loop", lambda: asyncio.run(serve()))
`, "", "of the time in read_config (app.py)"},
	{"an RLock is held over a slow call", `
other, lock, held = threading.RLock(), threading.RLock(), threading.Event()
def pay():
    with other, lock:
        held.set()
        time.sleep(3600)
def charge():
    with lock: pass
run("holder", pay); held.wait()
for i in range(4): run("waiter", charge)
`, "", "mostly waiting: 4 threads for threading.RLock in charge (app.py), held by holder (sleeps)"},
	{"a peer does not answer", `
server = socket.create_server(("127.0.0.1", 0))
def query():
    socket.create_connection(server.getsockname()).recv(1)
for i in range(3): run("client", query)
`, "", "mostly waiting: 3 threads in recvfrom (127.0.0.1:"},
	{"a server does not accept", `
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(0)
first = socket.create_connection(server.getsockname())
def fetch_quotes(): socket.create_connection(server.getsockname(), timeout=3600)
run("quotes", fetch_quotes)
`, "", "mostly waiting: 1 thread in poll (127.0.0.1: … , not accepted yet) of fetch_quotes (app.py)"},
	{"a worker process does not read its queue", `
import multiprocessing
workers = multiprocessing.get_context("fork")
work = workers.Queue()
workers.Process(target=time.sleep, args=(3600,), daemon=True).start()
work.put(b"x" * 1000000)
`, "", "mostly waiting: 1 thread in write (pipe of … or itself) of Connection._send (multiprocessing)"},
	{"a wake-up was lost", `
ready = threading.Condition()
def take_job():
    with ready: ready.wait()
for i in range(2): run("consumer", take_job)
`, "", "mostly waiting: 2 threads for threading.Condition.wait in take_job (app.py)"},
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
`, "", "mostly waiting: 1 thread in wait4 (child sleep, pid … ) of build (app.py)"},
	{"a file's lock is taken", `
path = sys.argv[0] + ".lock"
first, second = open(path, "w"), open(path, "w")
fcntl.flock(first, fcntl.LOCK_EX)
def save(): fcntl.flock(second, fcntl.LOCK_EX)
run("save", save)
`, "", "in save (app.py)"},
	{"all connections of a pool are taken", `
connections = queue.Queue()
def get_connection(): return connections.get()
def handle(): get_connection().execute("select 1")
for i in range(3): run("http", handle)
`, "", "get in get_connection (app.py)"},
	{"a server does not answer an event loop", `
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(1)
upstream = socket.create_connection(server.getsockname()); accepted = server.accept()
upstream.send(b"GET"); time.sleep(1.1)
loop = selectors.DefaultSelector(); loop.register(upstream, selectors.EVENT_READ)
def serve(): loop.select()
run("loop", serve)
`, "", "; at the end, … : 1 connection to 127.0.0.1: … : data sent, none came back for at least "},
	{"nothing is wrong", `
def serve(): selectors.DefaultSelector().select()
run("loop", serve)
`, "", "mostly asleep: "},
}

// busy records a program that computes for so long that a host at load 20 leaves it some samples.
// There the line also has what the program waits for, and no room for the file.
const busy = "record -d 2"

// otherProblems are by the file of the program.
var otherProblems = []problem{
	{"app.py: a regular expression goes back and forth", `
def check_email(text): return re.match(r"^([a-z0-9]+)*@x$", text)
print("ready", flush=True)
while True: check_email("a" * 20 + "!")
`, busy, " % in check_email … mostly in re"},
	{"app.py: a query for each row", `
import sqlite3
db = sqlite3.connect(":memory:")
db.execute("create table item(id integer, name text)")
db.executemany("insert into item values(?, '')", [(i,) for i in range(5000)])
def load_item(i): return db.execute("select name from item where id = ?", (i,)).fetchone()
print("ready", flush=True)
while True: [load_item(i) for i in range(5000)]
`, busy, " % in load_item … mostly in sqlite3"},
	{"app.c: a stripped program", `#include <stdio.h>
__attribute__((noinline)) static unsigned crc(unsigned c) {
	for (int i = 0; i < 1000000; i++) c = c >> 1 ^ (0xedb88320 & -(c & 1));
	return c;
}
int main(void) { puts("ready"); fflush(stdout); for (volatile unsigned c = 1;;) c = crc(c); }
`, busy, " % in app+0x"},
	{"App.java: a monitor is held over a slow call", `
static void write() { synchronized (App.class) { sleep(); } }
static void begin() {
	thread("holder", App::write); asleep("holder");
	for (int i = 0; i < 3; i++) { thread("waiter" + i, App::write); asleep("waiter" + i); }
}`, "", "mostly waiting: 3 threads for monitor of class App in App.write, held by holder (sleeps)"},
	{"App.java: an executor's tasks wait for its other tasks", `
static ExecutorService pool = Executors.newFixedThreadPool(4);
static Object order() { try { return pool.submit(() -> 1).get(); } catch (Exception e) { return null; } }
static void begin() {
	CyclicBarrier all = new CyclicBarrier(4);
	for (int i = 0; i < 4; i++) pool.submit(() -> { all.await(); return order(); });
	for (int i = 1; i <= 4; i++) asleep("pool-1-thread-" + i, "get");
}`, "", "mostly waiting: all 4 threads of pool-1-thread-* for FutureTask.get in App.order"},
	{"app.go: two goroutines take two locks in different order", `package main
import ("fmt"; "sync"; "time")
var a, b sync.Mutex
var both sync.WaitGroup
func east() { a.Lock(); both.Done(); both.Wait(); b.Lock() }
func west() { b.Lock(); both.Done(); both.Wait(); a.Lock() }
func main() {
	both.Add(2)
	go east(); go west()
	both.Wait()
	fmt.Println("ready")
	time.Sleep(time.Hour)
}`, "", "mostly waiting: about 2 goroutines for sync.Mutex.Lock in main.east and main.west"},
	{"app.go: a peer does not answer goroutines", goPeer + `
func main() {
	start("main.main.func1(", func(at string) { c, _ := net.Dial("tcp", at); c.Read(make([]byte, 1)) })
}`, "",
		"mostly waiting: about 3 goroutines in IO wait (127.0.0.1: … = app, pid "},
	{"app.go: a server does not respond", goPeer + `
func main() { start("persistConn).roundTrip(", func(at string) { http.Get("http://" + at) }) }`, "",
		"mostly waiting: about 3 goroutines in select (a response of 127.0.0.1: … = app, pid "},
	{"app.go: garbage is collected all the time", `package main
import ("fmt"; "runtime/debug")
type order struct { next *order; lines [4]*int }
var kept = map[int]*order{}
func parse(i int) *order { return &order{next: kept[i], lines: [4]*int{new(int), new(int), new(int), new(int)}} }
func main() {
	debug.SetGCPercent(4)
	for i := 0; i < 200000; i++ { kept[i] = parse(i + 1) }
	fmt.Println("ready")
	for i := 0; ; i++ { kept[i % 200000] = parse(i + 1) }
}`, busy, " % by Go's garbage collector"},
	{"App.java: the computations of two keys of a map need each other", `
static ConcurrentHashMap<String, Integer> rates = new ConcurrentHashMap<>();
static CyclicBarrier both = new CyclicBarrier(2);
static int rate(String from, String to) {
	return rates.computeIfAbsent(from, k -> {
		try { both.await(); } catch (Exception e) {}
		both = new CyclicBarrier(1);
		return rate(to, from);
	});
}
static void begin() {
	thread("east", () -> rate("a", "b")); asleep("east", "await");
	thread("west", () -> rate("b", "a")); asleep("west", "rate");
	for (int i = 0; i < 5; i++) { thread("http-" + i, () -> rate("a", "b")); asleep("http-" + i); }
}`, "", "deadlock (below); mostly waiting: 7 threads for … in App.rate, held by east (waits, too)"},
	{"App.java: a stream waits for futures", `
static Object quote() {
	return java.util.stream.Stream.of(new CompletableFuture<Object>()).map(CompletableFuture::join).toList();
}
static void begin() {
	for (int i = 0; i < 3; i++) { thread("http-" + i, App::quote); asleep("http-" + i, "join"); }
}`, "", "mostly waiting: 3 threads for CompletableFuture.join in App.quote"},
	{"app.js: responses never come", `
const http = require('http');
let requests = 0;
async function handle() { if (++requests === 3) console.log('ready'); await new Promise(() => {}); }
http.createServer(handle).listen(0, '127.0.0.1', function () {
	for (let i = 0; i < 3; i++) http.get({ port: this.address().port });
});
`, "top --once --window 3", "whether it hangs is unknown (below)"},
	{"app.rb: a child process writes errors that are not read yet", `
require "open3"
def convert() = Open3.popen3("yes >&2; true") { |_, out, err| [out.read, err.read] }
converter = Thread.new { convert }
Thread.pass until converter.status == "sleep"
puts "ready"
$stdout.flush
sleep
`, "", "mostly waiting: 1 thread in … (pipe of sh, pid … convert (app.rb)"},
	{"app.rb: a lock is held over a slow call", `
$lock = Mutex.new
def charge() = $lock.synchronize { sleep }
def run(name) = Thread.new { Thread.current.name = name; charge }
holder = run("holder")
Thread.pass until $lock.locked?
waiters = 3.times.map { |i| run("waiter#{i}") }
Thread.pass until (waiters + [holder]).all? { |t| t.status == "sleep" }
puts "ready"
$stdout.flush
sleep
`, "", "mostly waiting: 3 threads for mutex Thread::Mutex in charge (app.rb), held by holder (sleeps)"},
}

// goPeer has start, which runs a function in three goroutines, with the address of a server that never answers, until
// each waits below the function in the mark.
const goPeer = `package main
import ("bytes"; "fmt"; "net"; "net/http"; "runtime"; "time")
var kept []any = []any{http.Get}
func start(mark string, f func(at string)) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	go func() { for { c, _ := l.Accept(); kept = append(kept, c) } }()
	for i := 0; i < 3; i++ { go f(l.Addr().String()) }
	all := make([]byte, 1 << 20)
	for n := 0; n < 4 || bytes.Count(all, []byte(mark)) < 3; runtime.Gosched() {
		all = all[:runtime.Stack(all[:cap(all)], true)]
		n = bytes.Count(all, []byte(" [IO wait"))
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}`

// javaProblem has helpers; asleep waits until a thread does not run, in a method of App or in the named one.
const javaProblem = `import java.util.concurrent.*;
public class App {
static void sleep() { try { Thread.sleep(3600000); } catch (InterruptedException e) {} }
static void thread(String name, Runnable r) { Thread t = new Thread(r, name); t.setDaemon(true); t.start(); }
static void asleep(String name) { asleep(name, ""); }
static void asleep(String name, String in) {
	for (;;) for (var e : Thread.getAllStackTraces().entrySet()) {
		Thread.State state = e.getKey().getState();
		if (!e.getKey().getName().equals(name) || state == Thread.State.RUNNABLE) continue;
		for (StackTraceElement f : e.getValue())
			if (in.isEmpty() ? f.getClassName().equals("App") : f.getMethodName().equals(in)) return;
	}
}
public static void main(String[] args) { begin(); System.out.println("ready"); sleep(); }
`

const problemHead = `import concurrent.futures, fcntl, queue, re, selectors, socket, subprocess, sys, threading, time
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
	if err := os.WriteFile(file, []byte(problemHead+program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, file)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	testtargets.Ready(t, cmd)
	t.Cleanup(func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }) // its child, too
	return cmd.Process.Pid
}

// commandLine runs the problem's program by its file's name.
func (c *problem) commandLine(t *testing.T) []string {
	t.Helper()
	name, _, _ := strings.Cut(c.name, ":")
	file, program := filepath.Join(t.TempDir(), name), c.program
	switch filepath.Ext(name) {
	case ".java":
		program = javaProblem + program + "\n}\n"
	case ".py":
		program = problemHead + program
	}
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	switch filepath.Ext(name) {
	case ".java":
		return []string{testtargets.NeedProgram(t, "java"), "-Xmx64m", file}
	case ".go":
		return []string{testtargets.BuildGoAs(t, program, "app")}
	case ".js":
		return []string{testtargets.NeedProgram(t, "node"), file}
	case ".rb":
		return []string{testtargets.NeedProgram(t, "ruby"), file}
	case ".py":
		return []string{testtargets.NeedProgram(t, "python3"), file}
	}
	out := strings.TrimSuffix(file, ".c")
	build := exec.Command(testtargets.NeedProgram(t, "cc"), "-O1", "-s", "-o", out, file)
	if text, err := bounded.AllOutput(build); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return []string{out}
}

func TestTheFirstScreenNamesTheProblem(t *testing.T) {
	python := testtargets.NeedProgram(t, "python3")
	for _, c := range testtargets.EachNth(4, problems) {
		t.Run(c.name, func(t *testing.T) { c.isNamed(t, startProblem(t, python, c.program+problemEnd)) })
	}
	for _, c := range testtargets.EachNth(4, otherProblems) {
		t.Run(c.name, func(t *testing.T) {
			line := c.commandLine(t)
			cmd := exec.Command(line[0], line[1:]...)
			testtargets.Ready(t, cmd)
			c.isNamed(t, cmd.Process.Pid)
		})
	}
}

// isNamed records until the host gave the program CPUs: where its threads queued for longer than they ran, by the
// kernel's account, "waiting for a CPU" is the right conclusion, and the test has not seen what it is about.
func (c *problem) isNamed(t *testing.T, pid int) {
	t.Helper()
	for range 10 {
		ran, queued := schedulerClocks(t, pid)
		screen, first := c.record(t, pid)
		if strings.HasPrefix(first, "prywalk: waiting for a CPU: ") {
			ranAfter, queuedAfter := schedulerClocks(t, pid)
			if queuedAfter-queued > ranAfter-ran {
				continue
			}
		}
		for part := range strings.SplitSeq(c.want, " … ") {
			if !strings.Contains(first, part) {
				t.Errorf("want %q on the first screen:\n%s", c.want, screen)
			}
		}
		return
	}
	t.Skip("needs a host with a free CPU: in ten recordings the program's threads queued for longer than they ran")
}

// record returns what prywalk printed, and the first two lines of it.
func (c *problem) record(t *testing.T, pid int) (screen, first string) {
	t.Helper()
	args := []string{"record", "-d", "0.5"}
	if c.command != "" {
		args = strings.Fields(c.command)
	}
	args = append(args, "-p", strconv.Itoa(pid))
	p := start(t, t.TempDir(), nil, args...)
	if code := p.code(t); code != errs.ExitOK {
		t.Fatalf("exit code %d: %s", code, &p.err)
	}
	screen = p.out.String() + p.err.String()
	lines := strings.SplitN(screen, "\n", 3)
	return screen, strings.Join(lines[:min(2, len(lines))], "\n")
}

// schedulerClocks are the sums of the threads' time on a CPU and in a run queue, in nanoseconds (the kernel's
// Documentation/scheduler/sched-stats.rst).
func schedulerClocks(t *testing.T, pid int) (ran, queued int64) {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, name := range files {
		text, _ := os.ReadFile(name) // a thread that has ended has none
		var on, off int64
		if n, _ := fmt.Sscan(string(text), &on, &off); n == 2 {
			ran, queued = ran+on, queued+off
		}
	}
	if ran == 0 {
		t.Fatalf("no clocks in %d files schedstat of process %d", len(files), pid)
	}
	return ran, queued
}
