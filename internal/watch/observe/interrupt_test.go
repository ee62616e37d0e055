// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"os/exec"
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

func TestClocksOfAThreadThatComputesOnAreReadOnce(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	testtargets.Child(t, cmd)
	th := NewThread(cmd.Process.Pid, cmd.Process.Pid, procmem.NewFDBudget(8))
	defer th.Close()
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		for _, again := range []bool{false, true} {
			o := New(ctl, NewPool(4), ModeAuto)
			for _, mayWait := range []bool{false, true} {
				ends := false
				testtargets.Eventually(t, "a stop", func() bool {
					sched, err := th.files.SchedStat()
					if err != nil {
						t.Fatal(err)
					}
					th.clocks = sched
					if mayWait {
						th.skid.attributeStop(1, false, false)
					} else {
						for range 8 {
							th.skid.attributeStop(1, true, false)
						}
					}
					if th.skid.decideAtOnce() != mayWait {
						t.Fatalf("it may wait: %v", !mayWait)
					}
					calls := procmem.Calls()
					attachment, err := o.Stops.interrupt(th, again)
					if err != nil {
						t.Fatal(err)
					}
					calls = procmem.Calls() - calls
					want := int64(4)
					if again || mayWait {
						want++
					}
					if before, ok := attachment.ClocksBefore(); calls != want || !ok || before.Runs < sched.Runs {
						t.Errorf("again: %v, may wait: %v: %d calls, want %d; %+v after %+v", again, mayWait, calls, want, before, sched)
					}
					for end := ptrace.Now().Add(2e9); !ends && ptrace.Now() < end; ends = ctl.Poll(attachment) {
					}
					ctl.Cancel(attachment)
					for ctl.Attached() > 0 { // else the next stop continues this one
						ctl.WaitAny(ptrace.Now().Add(1e9))
					}
					return ends
				})
			}
			o.Close()
		}
	})
}

func TestCancelledStopsAreNotWaitedFor(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	testtargets.Child(t, cmd)
	th := NewThread(cmd.Process.Pid, cmd.Process.Pid, procmem.NewFDBudget(8))
	defer th.Close()
	observing(NewPool(4), ModeAlwaysStop, func(o *Observer) {
		outcome, _, err := o.Begin(th)
		if n := o.Stops.PendingStops(); outcome != Pending || err != nil || n != 1 || !th.Pending() {
			t.Fatalf("outcome %d, %v: %d waited for, want 1", outcome, err, n)
		}
		if !o.Stops.Cancel(th) || o.Stops.PendingStops() != 0 || th.Pending() {
			t.Errorf("%d waited for after it was cancelled, want 0", o.Stops.PendingStops())
		}
		if o.Stops.Cancel(th) {
			t.Error("cancelled twice")
		}
	})
}
