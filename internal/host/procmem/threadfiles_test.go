// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"prywalk/internal/base/refusal"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"

	"golang.org/x/sys/unix"
)

func sleeper(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	pid := cmd.Process.Pid
	testtargets.Eventually(t, "the process sleep sleeps", func() bool {
		s, err := OpenThread(pid, pid, nil).Syscall()
		return err == nil && !s.Running && (s.Nr == unix.SYS_CLOCK_NANOSLEEP || s.Nr == unix.SYS_NANOSLEEP)
	})
	return cmd
}

func TestFilesOfASleepingThread(t *testing.T) {
	cmd := sleeper(t)
	pid := cmd.Process.Pid
	budget := NewFDBudget(100)
	all := budget.Left()
	f := OpenThread(pid, pid, budget)
	for range 2 {
		sched, err := f.SchedStat()
		if err != nil || sched.Runs == 0 || sched.CPU == 0 {
			t.Errorf("schedstat %+v, %v", sched, err)
		}
		if s, err := f.Syscall(); err != nil || s.Running || s.SP == 0 || s.PC == 0 {
			t.Errorf("syscall %+v, %v; want a sleeping thread", s, err)
		}
		var st Stat
		if err := f.Stat(&st); err != nil || st.PID != pid || st.PPID != os.Getpid() || st.State != 'S' ||
			st.Comm.String() != "sleep" {
			t.Errorf("stat %+v, %v; want a sleeping thread named sleep", st, err)
		}
		var status Status
		if err := f.Status(&status); err != nil || status.Tgid != pid || status.State != 'S' || status.Threads != 1 ||
			status.NSpidN == 0 {
			t.Errorf("status %+v, %v", status, err)
		}
		var wchan [64]byte
		if w, err := f.Wchan(wchan[:]); err != nil {
			t.Errorf("wchan %q, %v", w, err)
		}
		var raw [96]byte
		if n := f.RawSchedStat(raw[:]); n <= 0 {
			t.Errorf("raw schedstat has %d bytes", n)
		} else if s, err := ParseSchedStat(raw[:n]); err != nil || s != sched {
			t.Errorf("raw schedstat %+v, want %+v", s, sched)
		}
	}
	if got := all - budget.Left(); got != 5 {
		t.Errorf("%d descriptors taken from the budget, want 5", got)
	}
	f.Close()
	if budget.Left() != all {
		t.Errorf("%d descriptors left after Close, want %d", budget.Left(), all)
	}
}

func TestClocksStayOpenBeyondTheBudget(t *testing.T) {
	pid := sleeper(t).Process.Pid
	tasks, err := OpenTasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tasks.Close()
	for _, in := range []*TaskDir{nil, tasks} {
		f := OpenThread(pid, pid, nil)
		if in != nil {
			f.OpenDirIn(in)
		}
		var raw [96]byte
		before := testtargets.Descriptors(t)
		if n := f.RawSchedStat(raw[:]); n >= 0 {
			t.Errorf("%d bytes of a file that is not open, want an error", n)
		}
		f.KeepSchedstatOpen()
		f.KeepSchedstatOpen()
		if f.RawSchedStat(raw[:]) <= 0 {
			t.Error("KeepSchedstatOpen does not open the clocks")
		}
		if n := testtargets.Descriptors(t) - before; n != 1 {
			t.Errorf("%d descriptors opened, want 1", n)
		}
		f.CloseKeptSchedstat()
		if f.KeepSchedstatOpen(); f.RawSchedStat(raw[:]) <= 0 {
			t.Error("KeepSchedstatOpen does not open the clocks again after Close")
		}
		f.Close()
		f.CloseKeptSchedstat()
		if n := testtargets.Descriptors(t) - before; n != 0 {
			t.Errorf("%d descriptors left open, want 0", n)
		}
	}
}

func TestEndedThreadIsGoneOnEveryFile(t *testing.T) {
	cmd := sleeper(t)
	pid := cmd.Process.Pid
	kept, fresh := OpenThread(pid, pid, NewFDBudget(100)), OpenThread(pid, pid, nil)
	defer kept.Close()
	reads := map[string]func(f *ThreadFiles) error{
		"schedstat": func(f *ThreadFiles) error { _, err := f.SchedStat(); return err },
		"syscall":   func(f *ThreadFiles) error { _, err := f.Syscall(); return err },
		"stat":      func(f *ThreadFiles) error { return f.Stat(new(Stat)) },
		"status":    func(f *ThreadFiles) error { return f.Status(new(Status)) },
		"comm":      func(f *ThreadFiles) error { return f.Comm(new(Comm)) },
		"once":      func(*ThreadFiles) error { return ReadComm(pid, new(Comm)) },
		"wchan":     func(f *ThreadFiles) error { _, err := f.Wchan(make([]byte, 64)); return err },
	}
	for name, read := range reads {
		if err := read(kept); err != nil {
			t.Errorf("%s: %v, want %v", name, err, refusal.Exited)
		}
	}
	dir, err := OpenTasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	cmd.Process.Kill()
	cmd.Wait()
	for name, read := range reads {
		if err := read(kept); err != refusal.Exited {
			t.Errorf("%s, kept open: %v, want %v", name, err, refusal.Exited)
		}
		if err := read(fresh); err != refusal.Exited {
			t.Errorf("%s, opened now: %v, want %v", name, err, refusal.Exited)
		}
	}
	if tids, err := dir.List(nil); err != refusal.Exited || len(tids) != 0 {
		t.Errorf("list of threads, kept open: %v, %v; want %v", tids, err, refusal.Exited)
	}
	if _, err := ListTasks(pid, nil); err != refusal.Exited {
		t.Errorf("list of threads: %v, want %v", err, refusal.Exited)
	}
	if _, err := ProcessCPU(pid); err != refusal.Exited {
		t.Errorf("process clock: %v, want %v", err, refusal.Exited)
	}
}

func TestFilesAreNotKeptOpenWithoutBudget(t *testing.T) {
	b := new(FDBudget)
	b.Give(1)
	f := OpenThread(os.Getpid(), os.Getpid(), b)
	defer f.Close()
	for range 3 {
		if _, err := f.SchedStat(); err != nil {
			t.Error(err)
		}
		if err := f.Stat(new(Stat)); err != nil {
			t.Error(err)
		}
	}
	if f.fds[fileSchedStat] == 0 || f.fds[fileStat] != 0 || b.Left() != 0 || b.Take(1) {
		t.Errorf("open files %v, budget left %d; want schedstat only, 0", f.fds, b.Left())
	}
}

func TestTasksAreThoseOfTheProcess(t *testing.T) {
	here, stop := make(chan int), make(chan bool)
	for range 10 {
		go func() {
			runtime.LockOSThread()
			here <- unix.Gettid()
			<-stop
		}()
	}
	defer close(stop)
	dir, err := OpenTasks(os.Getpid(), NewFDBudget(100))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for range 10 {
		tid := bounded.Receive(t, "a thread begins", here)
		for range 2 {
			if tids, err := dir.List(nil); err != nil || !slices.Contains(tids, tid) {
				t.Errorf("thread %d is not in %v, %v", tid, tids, err)
			}
		}
	}
}

func TestProcessorClocksMatchTheScheduler(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var thread unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &thread); err != nil || thread.Nano() == 0 {
		t.Errorf("clock of the thread: %v, %v", thread, err)
	}
	process, err := ProcessCPU(os.Getpid())
	if err != nil || process < uint64(thread.Nano()) {
		t.Errorf("clock of the process %d, of the thread %v, %v", process, thread, err)
	}
	cmd := sleeper(t)
	sched, _ := OpenThread(cmd.Process.Pid, cmd.Process.Pid, nil).SchedStat()
	if ns, err := ProcessCPU(cmd.Process.Pid); err != nil || ns != sched.CPU {
		t.Errorf("clock of another process: %d, schedstat %+v, %v; want the same", ns, sched, err)
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := ProcessCPU(pid); err != refusal.Exited {
			t.Errorf("clock of process %d: %v, want %v", pid, err, refusal.Exited)
		}
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	pid := os.Getpid()
	f := OpenThread(pid, pid, NewFDBudget(100))
	defer f.Close()
	dir, err := OpenTasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	fresh := OpenThread(pid, pid, nil)
	var (
		st    Stat
		s     Status
		c     Comm
		wchan [64]byte
		buf   [64]byte
		tids  = make([]int, 0, 1000)
		src   [64]byte
	)
	if n := testing.AllocsPerRun(100, func() {
		for _, f := range []*ThreadFiles{f, fresh} {
			f.SchedStat()
			f.Syscall()
			f.Stat(&st)
			f.Status(&s)
			f.Comm(&c)
			f.Wchan(wchan[:])
		}
		dir.List(tids[:0])
		ProcessCPU(pid)
		ReadVM(pid, address(src[:]), buf[:])
		ReadVM(pid, 8, buf[:])
		readMem(pid, address(src[:]), buf[:])
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkSchedStat(b *testing.B) {
	f := OpenThread(os.Getpid(), os.Getpid(), NewFDBudget(100))
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.SchedStat(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSyscall(b *testing.B) {
	pid := sleeper(b).Process.Pid
	f := OpenThread(pid, pid, NewFDBudget(100))
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Syscall(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStat(b *testing.B) {
	f := OpenThread(os.Getpid(), os.Getpid(), NewFDBudget(100))
	defer f.Close()
	var s Stat
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Stat(&s); err != nil {
			b.Fatal(err)
		}
	}
}
