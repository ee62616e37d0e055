// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/engine"
	"prywalk/internal/loadedcode"
	"prywalk/internal/osthread"
	"prywalk/internal/perfevents"
	procs "prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/target"
	"prywalk/internal/testtargets"
)

func onChildClocks(t *testing.T, launched int, f func(*rig, *perfevents.Reader)) {
	t.Helper()
	r, err := perfevents.OpenDescendants()
	if err != nil {
		t.Skipf("needs perf events of own processes: kernel.perf_event_paranoid 2 or less (%v)", err)
	}
	defer r.Close()
	host := &rig{}
	host.Engine = newEngine(newRun(), host, engine.Options{Children: true}, &Source{})
	host.childClocks.begin(r, launched)
	f(host, r)
}

func trackedBy(e *rig, pid int, fromStart bool) *process {
	tasks, _ := procmem.OpenTasks(pid, nil)
	p := &process{engine: e.Engine, Process: &target.Process{
		Target: &loadedcode.Process{Process: &procs.Process{PID: pid}}, TaskDir: tasks,
		FromStart: fromStart,
	}}
	e.childClocks.processTracked(p)
	tasks.Close()
	return p
}

func TestChildTimesAreReportedIfAllChildrenAreRecorded(t *testing.T) {
	self := os.Getpid()
	onChildClocks(t, self, func(e *rig, r *perfevents.Reader) {
		osthread.Run(func() {
			if err := r.OpenThread(unix.Gettid()); err != nil {
				t.Error(err)
				return
			}
			start := func() int { return testtargets.Child(t, exec.Command("sleep", "1000")).Process.Pid }
			stranger := start() // its creation is recorded before the parent is tracked
			parent := trackedBy(e, self, true)
			child := start()
			for _, c := range []struct {
				name string
				of   *process
				want bool
			}{
				{"the command", parent, true},
				{"created by a recorded process", trackedBy(e, child, true), true},
				{"created by a process that is not recorded", trackedBy(e, stranger, true), false},
				{"older than the recording", trackedBy(e, stranger, false), true},
			} {
				if got := c.of.ReportsChildTimes(); got != c.want {
					t.Errorf("%s: child times are reported: %v", c.name, got)
				}
			}
			if e.childClocks.giveUp(); parent.ReportsChildTimes() {
				t.Error("child times are reported without records")
			}
		})
	})
}

func TestChildrenOfAProcessAreRecordedAllOrNone(t *testing.T) {
	const gone = 1 << 30
	onChildClocks(t, 0, func(e *rig, r *perfevents.Reader) {
		c, budget := e.childClocks, e.Files
		left := budget.Left()
		check := func(name string, tids []int, want bool, open int) {
			t.Helper()
			if got := c.openThreads(tids); got != want || r.OpenThreads() != open {
				t.Errorf("%s: all recorded %v, %d threads open; want %v, %d", name, got, r.OpenThreads(), want, open)
			}
			if left-budget.Left() != c.taken {
				t.Errorf("%s: %d descriptors taken, %d counted", name, left-budget.Left(), c.taken)
			}
		}
		check("too many threads", slices.Repeat([]int{gone}, maxDescriptors/r.Events()+1), false, 0)
		if check("some have ended", []int{gone, os.Getpid()}, true, 1); e.polls != 2 {
			t.Errorf("stops are polled %d times for 2 threads", e.polls)
		}
		other := testtargets.Child(t, exec.Command("sleep", "1000")).Process.Pid
		withoutFiles(t, func() { check("refused", []int{other}, false, 1) })
		most := budget.Left() - (2*r.Events() - 1)
		budget.Take(most)
		left -= most
		check("more than half of the descriptors left", []int{other}, false, 1)
		taken := c.taken
		if c.giveUp(); budget.Left() != left || taken == 0 {
			t.Errorf("%d of %d descriptors are given back", budget.Left()-left+taken, taken)
		}
	})
}

func TestRecordsEndIfTooManyThreadsHaveEvents(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		onChildClocks(t, 0, func(e *rig, r *perfevents.Reader) {
			p := &process{threads: map[int]*thread{}, childrenRecorded: recorded}
			for tid := range maxInherited/r.Events() + 1 {
				p.threads[tid] = nil
			}
			e.procs.all = append(e.procs.all, p)
			c := e.childClocks
			if c.report(c.checkedAt + checkEvery); (c.reader == nil) != recorded {
				t.Errorf("%d threads, recorded %v: records have ended: %v", len(p.threads), recorded, c.reader == nil)
			}
		})
	}
}

// withoutFiles calls f while no file can be opened.
func withoutFiles(t *testing.T, f func()) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }()
	f()
}

func TestRecordsBeforeAHoldAreTakenAtItsBegin(t *testing.T) {
	onChildClocks(t, 0, func(e *rig, r *perfevents.Reader) {
		c := e.childClocks
		osthread.Run(func() {
			if !c.openThreads([]int{unix.Gettid()}) {
				t.Error("no records")
				return
			}
			procmem.SleepUntil(procmem.Now() + 1e6)
			c.pause()
			if left := c.table.DrainClocks(r); left != 0 || c.records == 0 {
				t.Errorf("%d records are taken, %d left", c.records, left)
			}
		})
	})
}
