// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/attribute"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/osthread"
	"prywalk/internal/procmem"
	"prywalk/internal/target"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

const maxTries = 20_000

type childRig struct {
	c       *Tracer
	cmd     *exec.Cmd
	tracked *target.Process
	now     int64
}

func withUntrackedChild(t *testing.T, f func(*childRig)) {
	t.Helper()
	osthread.Run(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		c := newTracer(Options{Freq: 99, Children: true})
		c.Observer = observe.New(ctl, c.Pool, observe.ModeAuto)
		defer c.Observer.Close()
		u := &childRig{
			c: c, cmd: exec.Command("sh", "-c", "while :; do :; done"), now: procmem.Now(),
			tracked: &target.Process{ID: 7},
		}
		if err := u.cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		defer u.kill()
		finder := c.newChildren.finder
		finder.Track(os.Getpid(), u.tracked)
		finder.Search(u.cmd.Process.Pid-1, u.now)
		finder.Search(u.cmd.Process.Pid, u.now)
		if u.value() == nil && finder.Empty() {
			t.Error("the child is not found")
			return
		}
		f(u)
		c.newChildren.end()
		c.listings.endAll()
	})
}

func (u *childRig) kill() {
	_ = u.cmd.Process.Kill()
	_ = u.cmd.Wait()
}

func (u *childRig) value() *untrackedChild {
	for found := range u.c.newChildren.finder.All() {
		if found.PID == u.cmd.Process.Pid {
			return found.Value
		}
	}
	return nil
}

func (u *childRig) tick() {
	u.c.Tick.Number++
	u.c.newChildren.observe(u.now)
	u.c.stops.finishUntil(procmem.Now() + 1e9)
}

// stopTimes ticks until n marks have a sample, if ok, and returns the number of those without.
func (u *childRig) stopTimes(t *testing.T, n int) (without int, ok bool) {
	t.Helper()
	for range maxTries {
		u.tick()
		if child := u.value(); child != nil {
			samples := 0
			for i := range child.marks {
				if child.marks[i].raw != nil {
					samples++
				}
			}
			if samples == n {
				return len(child.marks) - n, true
			}
		}
		procmem.SleepUntil(procmem.Now() + 1e6)
	}
	t.Errorf("%d samples of a child that computes are not reached", n)
	return 0, false
}

func (u *childRig) events() (samples, ofChildren, counted []target.Event) {
	u.c.backlog.handOver()
	for len(u.c.Queue.Batches()) > 0 {
		for _, e := range <-u.c.Queue.Batches() {
			switch e.What.(type) {
			case nil:
				samples = append(samples, e)
			case *attribute.UnassignedSample:
				ofChildren = append(ofChildren, e)
			case *attribute.ChildCounted:
				counted = append(counted, e)
			}
		}
	}
	return samples, ofChildren, counted
}

func (u *childRig) track(t *testing.T) {
	t.Helper()
	opened, err := loadedcode.Open(u.cmd.Process.Pid)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { _ = opened.Close() })
	u.c.tracked.trackProcess(target.NewProcess(opened, true, os.Getpid()))
}

// The table of newChildren.
func TestMarksOfChildrenBecomeWhatTheTableSays(t *testing.T) {
	const stops = 2
	for name, c := range map[string]struct {
		then                 func(*testing.T, *childRig)
		ofThread, ofChildren int
		reported             bool
	}{
		"tracked": {func(t *testing.T, u *childRig) {
			u.track(t)
			u.c.listings.refreshAll(procmem.Now())
		}, stops, 0, true},
		"ends untracked": {func(_ *testing.T, u *childRig) {
			u.kill()
			u.tick()
		}, 0, stops, true},
		"tracked, ends before its first thread is": {func(t *testing.T, u *childRig) {
			u.track(t)
			u.c.tracked.endProcess(u.c.tracked.processes()[0])
		}, 0, 0, true},
		"untracked for 10 s": {func(_ *testing.T, u *childRig) {
			u.now += 10.1e9
			u.tick()
		}, 0, 0, false},
		"untracked at the end": {func(_ *testing.T, u *childRig) { u.c.newChildren.end() }, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			withUntrackedChild(t, func(u *childRig) {
				without, ok := u.stopTimes(t, stops)
				if !ok {
					return
				}
				without++ // below
				child := u.value()
				child.marks = append(child.marks, mark{
					at: u.now, standsFor: 1, program: &target.Program{}, childState: attribute.ChildNotStopped,
				})
				u.events()
				c.then(t, u)
				if !c.reported {
					without = 0
				}
				sampled, ofChildren, _ := u.events()
				if len(sampled) != c.ofThread || len(ofChildren) != c.ofChildren+without {
					t.Errorf("%d samples of its thread and %d of children, want %d and %d", len(sampled), len(ofChildren),
						c.ofThread, c.ofChildren+without)
				}
				for _, e := range sampled {
					if e.Thread.TID != u.cmd.Process.Pid || e.RawSample == nil || e.Program.Name != "sh" {
						t.Errorf("a sample of thread %d, program %q", e.Thread.TID, e.Program.Name)
					}
				}
				for _, e := range ofChildren {
					if e.Proc != u.tracked {
						t.Error("a sample of another process's child")
					}
				}
				if n := u.c.Pool.BytesInUse(); (n > 0) != (c.ofThread+c.ofChildren > 0) {
					t.Errorf("%d bytes of samples are in use", n)
				}
			})
		})
	}
}

func TestAChildWhoseStopIsDeniedIsNotStoppedAgain(t *testing.T) {
	withUntrackedChild(t, func(u *childRig) {
		if _, ok := u.stopTimes(t, 1); !ok {
			return
		}
		child := u.value()
		u.c.newChildren.stopFinished(child, nil, ptrace.ErrDenied)
		stops := u.c.counts.attempted
		for n, tries := len(child.marks), 0; len(child.marks) < n+2; tries++ {
			if tries == maxTries {
				t.Fatal("the child is not marked again")
			}
			u.tick()
			procmem.SleepUntil(procmem.Now() + 1e6)
		}
		if u.c.counts.attempted != stops {
			t.Errorf("%d more observations were begun", u.c.counts.attempted-stops)
		}
	})
}

// Before, an agent kept the files of hundreds of ended processes: on a busy host each tick began a search.
func TestEndedChildIsForgottenWhileEachSearchLastsBeyondItsTick(t *testing.T) {
	withUntrackedChild(t, func(u *childRig) {
		c, finder := u.c, u.c.newChildren.finder
		if c.opens.open(); c.opens.byTracer() {
			t.Error("no opener")
			return
		}
		defer c.opens.close()
		tracer, held := unix.Gettid(), make(chan struct{})
		finder.BeforeRead = func() {
			if unix.Gettid() != tracer {
				<-held
			}
		}
		u.kill()
		searches := 0
		for range 8 {
			if err := exec.Command("true").Run(); err != nil { // takes a number
				t.Error(err)
				break
			}
			u.tick()
			if c.opens.busy() {
				searches++
			}
			close(held)
			c.opens.wait()
			held = make(chan struct{})
		}
		if close(held); !finder.Empty() || searches < 2 {
			t.Errorf("after %d searches that lasted beyond their tick the ended child is forgotten: %v", searches,
				finder.Empty())
		}
	})
}

func TestTimeOfUntrackedChildrenIsReportedOnce(t *testing.T) {
	withUntrackedChild(t, func(u *childRig) {
		testtargets.Eventually(t, "it has CPU time", func() bool {
			u.tick()
			for found := range u.c.newChildren.finder.All() {
				return len(found.Times) > 0
			}
			return false
		})
		u.kill()
		u.tick()
		_, _, counted := u.events()
		if len(counted) == 0 {
			t.Error("the tracer reports no time")
		}
		for _, e := range counted {
			what := e.What.(*attribute.ChildCounted)
			if what.Process != u.tracked.ID || e.Program.Name != "sh" || what.CPU <= 0 {
				t.Errorf("%d ns of %q", what.CPU, e.Program.Name)
			}
		}
	})
}
