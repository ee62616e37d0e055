// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets/bounded"
)

func open(t *testing.T, o ReaderOptions) *Reader {
	t.Helper()
	r, err := Open(o)
	if errors.Is(err, ErrDenied) || errors.Is(err, ErrUnsupported) {
		t.Skipf("needs kernel samples: sudo make test, on a kernel with perf events (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func spin(d time.Duration) {
	used := func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
		return time.Duration(ts.Nano())
	}
	for end := used() + d; used() < end; {
	}
}

func TestRunningThreadIsSampledWithItsStack(t *testing.T) {
	r := open(t, ReaderOptions{Freq: 997})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n := 0
	// a ring has room for tens of samples
	for i := 0; i < 200 || n < 100 && r.Lost() > 0 && i < 10_000; i++ {
		spin(time.Millisecond)
		r.Drain(func(rec *Record) {
			if rec.Kind != Sampled || rec.TID != unix.Gettid() {
				return
			}
			if n++; !rec.Usable() || len(rec.Stack) == 0 || rec.PID != os.Getpid() || rec.Time == 0 {
				t.Errorf("sample %+v; want a usable one of this process", rec)
			}
		})
	}
	if n < 100 {
		t.Errorf("%d samples in 200 ms at 997 Hz, or 10 s with losses, want 100; %d of all processes, %d lost", n,
			r.Samples(), r.Lost())
	}
}

func TestPausedEventsTakeNoSamples(t *testing.T) {
	r := open(t, ReaderOptions{Freq: 997})
	r.Pause()
	r.Drain(func(*Record) {})
	spin(50 * time.Millisecond)
	r.Drain(func(rec *Record) { t.Errorf("paused, yet a record came: %+v", rec) })
	r.Resume()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spin(100 * time.Millisecond)
	n := 0
	r.Drain(func(*Record) { n++ })
	if n == 0 {
		t.Error("no thread is sampled after Resume")
	}
}

func TestLostSamplesOfAFullRingAreCounted(t *testing.T) {
	r := open(t, ReaderOptions{Freq: 10000})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 40 { // until there is room for a record of the loss
		spin(100 * time.Millisecond)
		r.Drain(func(*Record) {})
		if r.Lost() > 0 {
			return
		}
	}
	t.Error("no loss is counted, though the rings have room for some milliseconds only")
}

func TestTheRestOfARingAfterAMalformedRecordCountsAsOneLost(t *testing.T) {
	for name, drain := range map[string]func(r *Reader, take func(*Record)){
		"Drain":           (*Reader).Drain,
		"DrainTasksFirst": func(r *Reader, take func(*Record)) { r.DrainTasksFirst(take, take) },
	} {
		good, malformed := record(typeSample, 2, sampleOf(nil, nil, 0)), make([]byte, headerLen)
		data, head := ringWith(1024, 0, good, malformed, good)
		g := &ring{mem: make([]byte, offTail+8), data: data, wrap: make([]byte, largest)}
		procmem.StoreShared(g.mem, offHead, head)
		r, taken := &Reader{rings: []*ring{g}}, 0
		for range 2 { // the second time there is nothing to read
			drain(r, func(*Record) { taken++ })
		}
		if taken != 1 || r.Samples() != 1 || r.Lost() != 1 {
			t.Errorf("%s: %d records, %d samples, %d lost; want 1 of each", name, taken, r.Samples(), r.Lost())
		}
	}
}

func TestListOfCPUsIsParsed(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-3": {0, 1, 2, 3}, "0-1,4,6-7": {0, 1, 4, 6, 7}, "": nil,
		"x,2": {2}, "3-1": nil} {
		if got := parseCPUs(list); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", list, got, want)
		}
	}
	if n := len(parseCPUs("0-99999999")); n != maxCPUs+1 {
		t.Errorf("%d CPUs of a list without bound, want %d", n, maxCPUs+1)
	}
}

func TestHotpluggedCPUsAreFollowed(t *testing.T) {
	r := open(t, ReaderOptions{Freq: 997})
	all := r.online
	if len(parseCPUs(all)) < 2 {
		t.Skip("needs two CPUs: a machine with more")
	}
	first := strconv.Itoa(parseCPUs(all)[0])
	for _, c := range []struct {
		list string
		ok   bool
		n    int
	}{
		{first, true, 1},
		{first, true, 1},
		{all, true, len(parseCPUs(all))},
		{all + "," + strconv.Itoa(maxCPUs), false, 0}, // this CPU does not exist: EINVAL
		{all, true, len(parseCPUs(all))},
	} {
		r.listCPUs = func() (string, error) { return c.list, nil }
		if ok := r.ReopenIfCPUsChanged(); ok != c.ok || len(r.rings) != c.n {
			t.Errorf("CPUs %q: %v, %d rings; want %v, %d", c.list, ok, len(r.rings), c.ok, c.n)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spin(100 * time.Millisecond)
	n := 0
	r.Drain(func(*Record) { n++ })
	if n == 0 {
		t.Error("no samples after CPUs went offline and online")
	}
}

// The rate is low enough for the rings to hold all records, unless other programs make too many.
func TestForksAreReportedBeforeSamplesOfAnyCPU(t *testing.T) {
	r := open(t, ReaderOptions{Freq: 20, Programs: true})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for try := 1; ; try++ {
		lost := r.Lost()
		missing := forksReportedFirst(t, r)
		spin(200 * time.Millisecond) // a loss is recorded with the next record of its CPU
		r.Drain(func(*Record) {})
		if missing == "" {
			return
		}
		if r.Lost() == lost || try == 20 {
			t.Fatalf("%s; %d lost", missing, r.Lost()-lost)
		}
	}
}

// forksReportedFirst returns what is missing of a child's records, or "".
func forksReportedFirst(t *testing.T, r *Reader) string {
	t.Helper()
	r.Drain(func(*Record) {})
	cmd := exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done")
	if err := bounded.Run(cmd); err != nil {
		t.Fatal(err)
	}
	child := cmd.Process.Pid
	var created, named, code, ended bool
	samples, early := 0, false
	r.DrainTasksFirst(func(rec *Record) {
		if rec.PID != child {
			return
		}
		switch rec.Kind {
		case Forked:
			created = rec.PPID == os.Getpid()
		case CommSet:
			named = named || rec.Exec && string(rec.Name) == "sh"
		case Mapped:
			code = code || rec.Len > 0 && rec.Inode != 0 && len(rec.Name) > 1 && rec.Name[0] == '/'
		case Exited:
			ended = ended || rec.TID == child
		}
		early = early || samples > 0
	}, func(rec *Record) {
		if rec.PID == child && rec.Kind == Sampled {
			samples++
		}
	})
	if early {
		t.Error("a sample before the fork")
	}
	r.DrainTasksFirst(func(rec *Record) {
		if rec.PID == child {
			t.Errorf("a second record of the child: %+v", rec)
		}
	}, func(*Record) {})
	if created && named && code && ended {
		return ""
	}
	return fmt.Sprintf("fork %v, exec %v, code %v, end %v recorded", created, named, code, ended)
}

func TestTrySucceedsWhereSamplesCome(t *testing.T) {
	open(t, ReaderOptions{Freq: 97})
	if err := Try(); err != nil {
		t.Error(err)
	}
}

// 128 MiB in all; 256 KiB each with more than 512 CPUs.
func TestRingsTakeBoundedMemory(t *testing.T) {
	for cpus, want := range map[int]int{
		1: MaxStack, 2: MaxStack, 64: MaxStack, 65: 30 << 10, 128: 30 << 10, 256: 14 << 10, 512: MinStack,
		8192: MinStack,
	} {
		n := stackWithin(cpus, maxRingBytes)
		if n != want || n%8 != 0 {
			t.Errorf("%d CPUs: copies of %d bytes of stack, want %d", cpus, n, want)
		}
		if all := ringSize(n) * cpus; all > maxRingBytes && n > MinStack || ringSize(n) > 2<<20 {
			t.Errorf("%d CPUs: rings of %d bytes, want at most %d", cpus, all, maxRingBytes)
		}
	}
}

// Processors to which prywalk is not bound have rings, too.
func TestRingsOfAllOnlineProcessorsTakeBoundedMemory(t *testing.T) {
	const online = 64
	r, err := openWithin(&Reader{
		opts:     ReaderOptions{Freq: 99, Rings: online * ringSize(MinStack)},
		listCPUs: func() (string, error) { return strings.Repeat("0,", online-1) + "0", nil },
	})
	if err != nil {
		t.Skipf("needs kernel samples: sudo make test, on a kernel with perf events (%v)", err)
	}
	defer r.Close()
	if r.Stack() != MinStack || len(r.rings) != online {
		t.Errorf("copies of %d bytes of stack with %d rings, want %d with %d", r.Stack(), len(r.rings), MinStack, online)
	}
}

const littleLockedMemory = "PRYWALK_TEST_LOCKS_LITTLE"

// With CAP_PERFMON only, a ring has 516 KB per CPU (kernel.perf_event_mlock_kb).
func TestRingsAreSmallerIfLittleMemoryMayBeLocked(t *testing.T) {
	if os.Getenv(littleLockedMemory) == "" {
		open(t, ReaderOptions{Freq: 99}).Close()
		if os.Getuid() != 0 {
			t.Skip("needs root to become a user with CAP_PERFMON only: sudo make test")
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), littleLockedMemory+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: 61077, Gid: 61077}, AmbientCaps: []uintptr{unix.CAP_PERFMON},
		}
		out, err := bounded.AllOutput(cmd)
		t.Logf("%s", out)
		if err != nil {
			t.Error(err)
		}
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	r, err := Open(ReaderOptions{Freq: 997})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := r.Stack(); n < MinStack || n >= MaxStack {
		t.Errorf("copies of %d bytes of stack, want %d to %d", n, MinStack, MaxStack)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mine := 0
	for range 100 {
		spin(5 * time.Millisecond)
		r.Drain(func(rec *Record) {
			if rec.Kind == Sampled && rec.TID == unix.Gettid() && rec.Usable() {
				mine++
			}
		})
		if mine > 0 {
			return
		}
	}
	t.Error("no thread is sampled")
}

func TestOwnThreadIsSampledInUserSpaceOnly(t *testing.T) {
	if err := TryPerThread(); err != nil {
		t.Skipf("needs perf events of own processes: kernel.perf_event_paranoid 2 or less (%v)", err)
	}
	r, err := OpenPerThread(ReaderOptions{Freq: 997})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, n := unix.Gettid(), 0
	take := func(rec *Record) {
		if rec.Kind != Sampled {
			return
		}
		if n++; !rec.Usable() || len(rec.Stack) == 0 || rec.TID != self || rec.Kernel() != 0 {
			t.Errorf("sample %+v, want this thread's user stack only", rec)
		}
	}
	spin(20 * time.Millisecond)
	if r.Drain(take); n != 0 || r.OpenThreads() != 0 {
		t.Errorf("%d samples, %d threads before a thread is added", n, r.OpenThreads())
	}
	if err := r.OpenThread(self); err != nil || r.OpenThreads() != 1 {
		t.Fatal(err)
	}
	for i := 0; i < 1000 && n < 10; i++ {
		spin(time.Millisecond)
		r.Drain(take)
	}
	if n < 10 {
		t.Errorf("%d samples in a second of CPU time, want at least 10", n)
	}
	r.CloseThread(self)
	r.Drain(func(*Record) {})
	spin(20 * time.Millisecond)
	if r.Drain(func(rec *Record) { t.Errorf("sample of a removed thread: %+v", rec) }); r.OpenThreads() != 0 {
		t.Errorf("%d threads have events, want 0", r.OpenThreads())
	}
	if err := r.OpenThread(1 << 30); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a thread that does not exist: %v, want ESRCH", err)
	}
}

func TestFirstSamplesOfAThreadHaveAPartOfThePeriod(t *testing.T) {
	if err := TryPerThread(); err != nil {
		t.Skipf("needs perf events of own processes: kernel.perf_event_paranoid 2 or less (%v)", err)
	}
	r, err := OpenPerThread(ReaderOptions{Freq: 97})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self := os.Getpid()
	if err := r.OpenThread(self); err != nil {
		t.Fatal(err)
	}
	within := func(period, nominal time.Duration) bool {
		return period >= nominal-nominal/varyShare-1 && period <= nominal+nominal/varyShare+1
	}
	first, before := r.ThreadPeriod(self), monotonic.Moment(procmem.Now())
	if !within(first, r.Period()/firstSamples) || r.PeriodAt(self, before) != first {
		t.Errorf("a first period of %d ns, want an eighth of %d", first, r.Period())
	}
	if !r.SetWholePeriod(self) || !within(r.ThreadPeriod(self), r.Period()) {
		t.Errorf("a period of %d ns, want %d", r.ThreadPeriod(self), r.Period())
	}
	if at := r.PeriodAt(self, before); at != first {
		t.Errorf("an earlier sample has a period of %d ns, want %d", at, first)
	}
	if r.SetWholePeriod(1 << 30) {
		t.Error("an unknown thread has a period")
	}
}
