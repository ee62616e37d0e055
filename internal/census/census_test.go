package census

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"prywalk/internal/bench/load"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/testtargets"
)

// TestMain makes of the test binary, if asked to, a process with sleeping threads.
func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv("CENSUS_CROWD")); err == nil {
		err := load.Run(context.Background(), load.Options{Kind: load.Busy, Sleeping: n}, os.Stdin, os.Stdout)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
		return
	}
	os.Exit(m.Run())
}

// begin takes up the census, or skips the test where it is not to be had.
func begin(t testing.TB) *Census {
	t.Helper()
	c, err := New()
	if errors.Is(err, ErrDenied) || errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// sleepers starts a process with n sleeping threads and a few of its runtime.
func sleepers(t testing.TB, n int) int {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "CENSUS_CROWD="+strconv.Itoa(n))
	if _, err := cmd.StdinPipe(); err != nil { // when it is closed, by whatever end of this process, the other ends
		t.Fatal(err)
	}
	testtargets.Ready(t, cmd)
	return cmd.Process.Pid
}

// TestCensusIsWhatProcShows compares each thread's record with its schedstat, read
// before and after: where these are the same, the record between them must be too.
func TestCensusIsWhatProcShows(t *testing.T) {
	c := begin(t)
	pid := sleepers(t, 200)
	tids, err := procmem.ListTasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for end := time.Now().Add(2 * time.Minute); compared < 200 && time.Now().Before(end); {
		compared = agree(t, c, pid, tids) // of those that have fallen asleep
	}
	if c.Len() < 200 || compared < 200 {
		t.Errorf("%d threads of %d, %d compared", c.Len(), len(tids), compared)
	}
}

// agree compares the threads that do not run meanwhile, and gives their number.
func agree(t *testing.T, c *Census, pid int, tids []int) (compared int) {
	t.Helper()
	before := counts(t, pid, tids)
	if err := c.Take(pid); err != nil {
		t.Fatal(err)
	}
	after := counts(t, pid, tids)
	for i := range c.Len() {
		r := c.At(i)
		if !slices.Contains(tids, r.TID) { // born meanwhile, or a mistake
			if again, err := procmem.ListTasks(pid, nil); err == nil && !slices.Contains(again, r.TID) {
				t.Errorf("thread %d is not of process %d", r.TID, pid)
			}
			continue
		}
		if before[r.TID] != after[r.TID] {
			continue // it ran meanwhile
		}
		compared++
		if r.SchedStat != before[r.TID] {
			t.Errorf("thread %d: census %+v, /proc %+v", r.TID, r.SchedStat, before[r.TID])
		}
	}
	return compared
}

// TestCensusShowsWhereThreadsSleep compares each sleeper's call and registers with its syscall file, read between two
// censuses: where its count is the same, so must they be. Threads nap, so that records are of new sleeps, too.
func TestCensusShowsWhereThreadsSleep(t *testing.T) {
	c := begin(t)
	if !c.TellsSleeps() {
		t.Skip("a census tells nothing of sleeps here")
	}
	exe, err := testtargets.Compile("naps.c", "-O2")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "50", "3", "turns")
	_, says := testtargets.Talk(t, cmd)
	if line, err := bufio.NewReader(says).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the target says %q, %v", line, err)
	}
	places := map[procmem.SyscallInfo]int{}
	compared := 0
	enough := func() bool { return compared >= 500 && len(places) >= 30 }
	for end := time.Now().Add(2 * time.Minute); !enough() && time.Now().Before(end); {
		compared += sameSleeps(t, c, cmd.Process.Pid, places)
	}
	if !enough() {
		t.Errorf("%d compared, %d places", compared, len(places))
	}
}

// sameSleeps compares those that sleep on between two censuses, and gives their number.
func sameSleeps(t *testing.T, c *Census, pid int, places map[procmem.SyscallInfo]int) (compared int) {
	t.Helper()
	type read struct {
		Record
		Sleep
		shown procmem.SyscallInfo
	}
	all := map[int]read{}
	if err := c.Take(pid); err != nil {
		t.Fatal(err)
	}
	for i := range c.Len() {
		r := read{Record: c.At(i)}
		if c.Asleep(i, &r.Sleep) {
			all[r.TID] = r
		}
	}
	for tid, r := range all {
		f := procmem.OpenThread(pid, tid, nil)
		at, known := f.LastRun()
		var err error
		if r.shown, err = f.Syscall(); err != nil {
			t.Fatal(err)
		}
		if known && !r.shown.Running && at != r.LastRun {
			r.LastRun = -1 // wrong, if it has not run
		}
		all[tid] = r
	}
	if err := c.Take(pid); err != nil {
		t.Fatal(err)
	}
	for i := range c.Len() {
		now := c.At(i)
		r, ok := all[now.TID]
		if !ok || r.shown.Running || now.Runs != r.Runs || now.CPU != r.CPU {
			continue // it ran meanwhile, or is queued to run
		}
		compared++
		places[r.Call]++
		if r.shown != r.Call || !r.Interruptible || r.Call.Nr < 0 || r.LastRun < 0 {
			t.Fatalf("thread %d: census %+v, /proc %+v", r.TID, r.Sleep, r.shown)
		}
	}
	return compared
}

func counts(t testing.TB, pid int, tids []int) map[int]procmem.SchedStat {
	all := map[int]procmem.SchedStat{}
	for _, tid := range tids {
		s, err := procmem.OpenThread(pid, tid, nil).SchedStat()
		if err != nil {
			t.Fatal(err)
		}
		all[tid] = s
	}
	return all
}

func TestCensusOfNobodyIsAnError(t *testing.T) {
	c := begin(t)
	if err := c.Take(1 << 22); !errors.Is(err, refusal.Gone) || c.Len() != 0 {
		t.Errorf("%v, %d threads", err, c.Len())
	}
	if err := c.Take(os.Getpid()); err != nil || c.Len() == 0 {
		t.Errorf("%v, %d threads of this process", err, c.Len())
	}
}

func TestCensusAllocatesNothing(t *testing.T) {
	c := begin(t)
	var sum int
	var where Sleep
	if n := testing.AllocsPerRun(100, func() {
		if c.Take(os.Getpid()) == nil {
			for i := range c.Len() {
				if sum += c.At(i).TID; c.Asleep(i, &where) {
					sum++
				}
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkCensus and BenchmarkProc count 2,000 sleeping threads in either way.
func BenchmarkCensus(b *testing.B) {
	c := begin(b)
	pid := sleepers(b, 2000)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Take(pid); err != nil {
			b.Fatal(err)
		}
		for i := range c.Len() {
			if c.At(i).TID == 0 {
				b.Fatal("no number")
			}
		}
	}
}

func BenchmarkProc(b *testing.B) {
	pid := sleepers(b, 2000)
	tids, err := procmem.ListTasks(pid, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := procmem.RaiseFileLimit(); err != nil {
		b.Fatal(err)
	}
	budget := procmem.NewBudget(64)
	var files []*procmem.ThreadFiles
	for _, tid := range tids {
		files = append(files, procmem.OpenThread(pid, tid, budget))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range files {
			if _, err := f.SchedStat(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
