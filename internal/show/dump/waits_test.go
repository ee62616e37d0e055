// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/walk/waits"
)

type program struct {
	pid     int
	numbers []int
}

func startProgram(t *testing.T, exe string, wrap []string, args ...string) *program {
	t.Helper()
	args = slices.Concat(wrap, []string{exe}, args)
	cmd := exec.Command(args[0], args[1:]...)
	_, says := testtargets.Talk(t, cmd)
	p := &program{pid: cmd.Process.Pid}
	hung := time.AfterFunc(testtargets.Patience, func() { _ = cmd.Process.Kill() })
	defer hung.Stop()
	line, err := says.ReadString('\n')
	if err != nil {
		t.Fatalf("%v did not get ready: %v", args, err)
	}
	for _, w := range strings.Fields(line)[1:] {
		n, _ := strconv.Atoi(w)
		p.numbers = append(p.numbers, n)
	}
	return p
}

// startLocks starts locks.c and waits until each of its threads waits.
func startLocks(t *testing.T) *program {
	t.Helper()
	p := startProgram(t, compile(t, "locks.c", "-g", "-O1", "-pthread"), nil)
	allSleep(t, p.pid)
	return p
}

func allSleep(t *testing.T, pid int) {
	t.Helper()
	testtargets.Eventually(t, "all threads sleep", func() bool { return awake(pid) == 0 })
}

// awake counts the threads that do not sleep; one that ends meanwhile is awake.
func awake(pid int) (n int) {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, dir := range dirs {
		tid, _ := strconv.Atoi(filepath.Base(dir))
		var s procmem.Stat
		if err := procmem.ReadStat(tid, &s); err != nil || s.State != 'S' {
			n++
		}
	}
	return n
}

func locksOf(t *testing.T, pids ...int) *locks.Locks {
	t.Helper()
	var targets []*loadedcode.Process
	for _, pid := range pids {
		p, err := loadedcode.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		targets = append(targets, p)
	}
	l, err := ExamineLocks(targets, Options{MaxDepth: -1})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type row struct{ thread, kind, line string }

// In text, HELD is ", held by thread N owner", OWNER is "N owner".
func rowsOf(owner int, text string) (rows []row) {
	text = strings.NewReplacer("HELD", ", held by thread OWNER", "\t", "").Replace(strings.TrimSpace(text))
	text = strings.ReplaceAll(text, "OWNER", fmt.Sprintf("%d owner", owner))
	for line := range strings.Lines(text) {
		thread, rest, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		kind, line, _ := strings.Cut(rest, ": ")
		rows = append(rows, row{thread, kind, line})
	}
	return rows
}

const locksInC = `
	normal = mutex: mutex mu_normal (normal)HELD
	recursive = mutex: mutex mu_recursive (recursive)HELD
	errorcheck = mutex: mutex mu_errorcheck (error-checking)HELD
	adaptive = mutex: mutex mu_adaptive (adaptive)HELD
	robust = mutex: mutex mu_robust (normal robust)HELD
	pi = mutex: mutex mu_pi (normal PI)HELD
	shared = mutex: mutex mu_shared (normal shared)HELD
	timed = mutex: mutex mu_normal (normal)HELD, with a time-out
	rdlock = rwlock: rwlock rw_written (read)HELD
	wrlock = rwlock: rwlock rw_written (write)HELD
	wrlock-read = rwlock: rwlock rw_read (write), held by 1 reader
	cond = condition: condition cond (a condition variable has no owner)
	sem = semaphore: semaphore sem (stores no owner)
	join = join: the end of thread OWNER
	once = once: once once (stores no owner)
	sleep = sleep: sleep for 1h0m0s
	wait4 = child: child
`

const locksInCPlusPlus = `
	mutex = mutex: mutex cxx_mutex (normal)HELD
	recursive = mutex: mutex cxx_recursive (recursive)HELD
	timed = mutex: mutex cxx_timed (normal)HELD, with a time-out
	shared = rwlock: rwlock cxx_shared (read)HELD
	exclusive = rwlock: rwlock cxx_shared (write)HELD
	cond = condition: condition cxx_cond (a condition variable has no owner)
	guard = static-guard: static-guard guard variable for guarded()::slow (stores no owner)
	atomic = atomic: atomic cxx_atomic (stores no owner)
`

// check samples once each thread sleeps for good.
func check(t *testing.T, pid int, rows []row) {
	t.Helper()
	if missing := missing(stillSample(t, pid), rows); len(missing) > 0 {
		t.Fatal(strings.Join(missing, "\n"))
	}
}

func stillSample(t *testing.T, pid int) (p *stacks.Process) {
	t.Helper()
	testtargets.Still(t, pid, func() {
		if p != nil {
			p.Close()
		}
		p = sampleOf(t, pid, -1)
	})
	return p
}

func missing(p *stacks.Process, rows []row) (out []string) {
	for _, r := range rows {
		got := "no thread of that name"
		for i := range p.Threads {
			if th := &p.Threads[i]; th.Name == r.thread {
				got = "waits for nothing known, in " + th.Wait
				if w := th.WaitsFor; w != nil {
					got = string(w.Kind) + ": " + w.String()
				}
			}
		}
		if got != r.kind+": "+r.line {
			out = append(out, fmt.Sprintf("%s: %s; want %s: %s", r.thread, got, r.kind, r.line))
		}
	}
	return out
}

func TestEachThreadSaysWhatItWaitsFor(t *testing.T) {
	p := startLocks(t)
	owner, child := p.numbers[0], p.numbers[1]
	check(t, p.pid, rowsOf(owner, locksInC))
	for _, th := range stillSample(t, p.pid).Threads {
		w := th.WaitsFor
		if w == nil {
			continue
		}
		switch f := w.FD; th.Name {
		case "gone":
			if w.Owner != 0 || w.OwnerGone == 0 {
				t.Errorf("a lock of a thread that has ended: %v", w)
			}
		case "pipe":
			if f.Type != "pipe" || len(f.Peers) != 2 || f.Peers[0].PID != p.pid && f.Peers[1].PID != p.pid ||
				f.Peers[0].PID != child && f.Peers[1].PID != child {
				t.Errorf("pipe: %+v", f)
			}
		case "eventfd", "timerfd", "signalfd", "inotify":
			if f.Type != th.Name {
				t.Errorf("%s: %+v", th.Name, f)
			}
		case "socket":
			if f.Type != "socket" || f.Local != "unix" {
				t.Errorf("socket: %+v", f)
			}
		case "accept":
			if f.State != "LISTEN" || !strings.HasPrefix(f.Local, "0.0.0.0:") || w.Idle != waits.IdleAccept {
				t.Errorf("accept: %+v, %q", f, w.Idle)
			}
		case "epoll":
			if f.Type != "epoll" || len(f.Holds) != 2 || w.Idle != waits.IdleEventLoop {
				t.Errorf("epoll: %+v, %q", f, w.Idle)
			}
		case "poll":
			if len(w.FDs) != 2 || w.FDs[0].Type != "pipe" || w.FDs[1].Type != "eventfd" {
				t.Errorf("poll: %+v", w.FDs)
			}
		case "splice":
			if f != nil || len(w.FDs) != 2 || w.FDs[0].Type != "file" || w.FDs[1].Type != "pipe" {
				t.Errorf("splice from a file to a full pipe: %+v, %+v", f, w.FDs)
			}
		}
	}
	l := locksOf(t, p.pid)
	for i := range l.Locks {
		m := &l.Locks[i]
		if th := m.OwnerThread; m.Owner == owner && (th == nil || th.TID != owner || th.OwnPlace() == "") {
			t.Errorf("%s: no stack of its owner", m.Object())
		}
	}
	if len(l.Deadlocks) > 0 {
		t.Errorf("deadlocks %v", l.Deadlocks)
	}
}

// Calls with a time-out are restart_syscall(2) then.
func TestWaitsAreTheSameAfterAStopBySignal(t *testing.T) {
	p := startLocks(t)
	rows := rowsOf(p.numbers[0], locksInC)
	check(t, p.pid, rows)
	stopAll(t, p.pid)
	if err := syscall.Kill(p.pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	allSleep(t, p.pid)
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.thread == "sleep" }) // sleep(3) stores what remains
	check(t, p.pid, rows)
	for _, th := range stillSample(t, p.pid).Threads {
		if th.Name == "sleep" && (th.WaitsFor.Kind != waits.Sleep || th.Wait != "clock_nanosleep") {
			t.Errorf("sleep: %+v in %s", th.WaitsFor, th.Wait)
		}
	}
}

func TestACoreSaysWhatThreadsWaitedFor(t *testing.T) {
	p := startLocks(t)
	check(t, p.pid, rowsOf(p.numbers[0], locksInC))
	file := gcore(t, p.pid)
	d := dumpOf(t, file)
	live := stillSample(t, p.pid)
	for i := range d.Threads {
		th := &d.Threads[i]
		if l := live.Thread(th.TID); l != nil {
			th.Name = l.Name
		}
	}
	rows := rowsOf(p.numbers[0], locksInC)
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.thread == "sleep" }) // gdb's stop changed it
	for i := range rows {
		rows[i].line = strings.ReplaceAll(rows[i].line, fmt.Sprintf("%d owner", p.numbers[0]), strconv.Itoa(p.numbers[0]))
	}
	for _, m := range missing(d, rows) {
		t.Error(m)
	}
	if l := LocksOfCore(openCore(t, file, ""), Options{MaxDepth: -1}); len(l.Deadlocks) > 0 ||
		len(l.Locks) == 0 {
		t.Errorf("%d locks, deadlocks %v", len(l.Locks), l.Deadlocks)
	}
}

func TestLocksOfCPlusPlus(t *testing.T) {
	p := startProgram(t, compile(t, "locks.cc", "-std=c++20", "-g", "-O1", "-pthread"), nil)
	check(t, p.pid, rowsOf(p.numbers[0], locksInCPlusPlus))
}

func TestOwnersInAPIDNamespace(t *testing.T) {
	exe := compile(t, "locks.c", "-g", "-O1", "-pthread")
	testtargets.NeedRoot(t, "make a pid namespace")
	err := bounded.Run(exec.Command(testtargets.NeedProgram(t, "unshare"), "--pid", "--fork", "true"))
	testtargets.Need(t, err == nil, "a pid namespace", "CAP_SYS_ADMIN")
	p := startProgram(t, exe, []string{"unshare", "--pid", "--fork", "--kill-child"})
	inside := children(t, p.pid)[0]
	owner := 0
	for _, th := range stillSample(t, inside).Threads {
		if th.Name == "owner" {
			owner = th.TID
		}
	}
	if owner == p.numbers[0] {
		t.Fatal("the owner has the same number inside and outside")
	}
	check(t, inside, rowsOf(owner, locksInC))
}

func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	for _, w := range strings.Fields(output(t, "ps", "--ppid", strconv.Itoa(pid), "-o", "pid=")) {
		n, _ := strconv.Atoi(w)
		pids = append(pids, n)
	}
	if len(pids) == 0 {
		t.Fatal("no children")
	}
	return pids
}
