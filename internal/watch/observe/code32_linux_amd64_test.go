// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"os/exec"
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

func TestThreadIn32BitCodeIsStoppedMoreAndMoreRarely(t *testing.T) {
	exe, err := testtargets.Compile("code32.c", "-O1", "-g0")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	th := NewThread(cmd.Process.Pid, cmd.Process.Pid, procmem.NewFDBudget(0))
	defer th.Close()
	observing(NewPool(4), ModeAuto, func(o *Observer) {
		stops, refused := 0, 0
		tick := func() {
			outcome, s, err := o.Begin(th)
			for finished := false; outcome == Pending && !finished; {
				var stopped *Thread
				if stopped, s, err = o.Stops.Next(ptrace.Now().Add(1e6)); stopped != nil {
					finished = true
					stops++
				}
			}
			if s != nil {
				o.pool.Put(s)
			}
			if err == ptrace.Err32Bit {
				refused++
			}
		}
		testtargets.Eventually(t, "32-bit code", func() bool {
			tick()
			return refused > 0
		})
		stops, refused = 0, 0
		const ticks = 1 + 3 + 7 + 15 + 31 + 63 + 6 // omitted stops, and those after them

		testtargets.Eventually(t, "ticks that find the thread running", func() bool { // it may be queued for a CPU
			tick()
			return refused == ticks
		})
		if stops != 6 {
			t.Errorf("%d stops in %d ticks that found 32-bit code; want 6", stops, ticks)
		}
	})
}

func TestAStopIn64BitCodeEndsTheOmissionOfStops(t *testing.T) {
	th := spinning(t)
	th.stops.code32 = code32{omit: maxOmitted32}
	observing(NewPool(4), ModeAlwaysStop, func(o *Observer) {
		if outcome, _, err := o.Begin(th); outcome != Pending {
			t.Errorf("outcome %v, %v; want a stop", outcome, err)
			return
		}
		for th.Pending() {
			_, s, err := o.Stops.Next(ptrace.Now().Add(1e6))
			if err != nil {
				t.Error(err)
			}
			o.pool.Put(s)
		}
	})
	if th.stops.code32 != (code32{}) {
		t.Errorf("%+v after a stop in 64-bit code", th.stops.code32)
	}
}

func TestAnExecEndsTheOmissionOfStops(t *testing.T) {
	var c code32
	for range 5 {
		c.omitMore(1)
	}
	if c.tryOmit(2) || !c.tryOmit(1) {
		t.Error("a stop after an exec is omitted, or one before it is not")
	}
	if c.omitMore(2); !c.tryOmit(2) || c.tryOmit(2) {
		t.Error("not one stop is omitted after the first one in another 32-bit program")
	}
}
