// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/osthread"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
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
		if finder.Empty() {
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

func (u *childRig) tick() {
	u.c.Tick.Number++
	u.c.Tick.At, u.c.Tick.StandsFor = u.now, 10e6
	u.c.newChildren.observe(u.now)
}

// markTimes ticks until the child has n marks.
func (u *childRig) markTimes(t *testing.T, n int) {
	t.Helper()
	for range maxTries {
		u.tick()
		for found := range u.c.newChildren.finder.All() {
			if found.PID == u.cmd.Process.Pid && len(found.Value) == n {
				return
			}
		}
		procmem.SleepUntil(procmem.Now() + 1e6)
	}
	t.Errorf("%d marks of a child that computes are not reached", n)
}

func (u *childRig) events() (ofChildren []target.Event) {
	u.c.backlog.handOver()
	for len(u.c.Queue.Batches()) > 0 {
		for _, e := range <-u.c.Queue.Batches() {
			if _, ok := e.What.(*attribute.UnassignedSample); ok {
				ofChildren = append(ofChildren, e)
			}
		}
	}
	return ofChildren
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

func TestMarksOfChildrenBecomeSamplesOfTheirAncestor(t *testing.T) {
	const marks = 2
	for name, c := range map[string]struct {
		then func(*testing.T, *childRig)
		want int
	}{
		"tracked": {func(t *testing.T, u *childRig) { u.track(t) }, marks},
		"ends untracked": {func(_ *testing.T, u *childRig) {
			u.kill()
			u.tick()
		}, marks},
		"untracked for 10 s": {func(_ *testing.T, u *childRig) {
			u.now += 10.1e9
			u.tick()
		}, 0},
		"untracked at the end": {func(_ *testing.T, u *childRig) { u.c.newChildren.end() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			withUntrackedChild(t, func(u *childRig) {
				u.markTimes(t, marks)
				c.then(t, u)
				got := u.events()
				if len(got) != c.want {
					t.Errorf("%d samples of children, want %d", len(got), c.want)
				}
				for _, e := range got {
					what := e.What.(*attribute.UnassignedSample)
					if e.Proc != u.tracked || !what.OfChild || what.Process != u.tracked.ID || what.StandsFor != 10e6 ||
						what.Place.ChildState != attribute.ChildProgramOnly || e.Program.Name != "sh" {
						t.Errorf("%+v, program %q", what, e.Program.Name)
					}
				}
			})
		})
	}
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
