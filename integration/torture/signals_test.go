// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"fmt"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

var rungs = []string{"auto", "stop"}

func TestRealSignalsInterruptCallsWhileRecorded(t *testing.T) {
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "eintr")
			r := record(t, p.pid, "--rung", rung)
			r.awaitSamples(p.pid)
			p.awaitProgress(300)
			s := r.stop()
			c := p.finish()
			t.Logf("%d observations, %d stops, %d calls restarted; the target's counts: %v", s.Attempted, s.Stopped,
				s.Restarted, c)
			// A signal at a restarted call runs its handler before the call, not in it. That is rare by default,
			// as no sleeping thread is stopped.
			lost := c["handled"] - c["eintr"]
			// Each lost EINTR was sent again by the target, and needs a restarted call.
			if lost < 0 || lost > c["resent"] || lost > s.Restarted {
				t.Errorf("%d of %d signals gave no EINTR, want at most the %d sent again and the %d calls restarted",
					lost, c["handled"], c["resent"], s.Restarted)
			}
			// By default a thread may be stopped on its way into the call, and then looks asleep in it to the
			// target: 1 of 1,537 with half of a processor stolen by the hypervisor, 0 of 67,692 on an idle
			// machine.
			t.Logf("%d of %d signals gave no EINTR", lost, c["sent"])
		})
	}
}

func TestNoSignalOfAStormIsLostOrChanged(t *testing.T) {
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "storm")
			r := record(t, p.pid, "--rung", rung)
			r.awaitSamples(p.pid)
			p.awaitProgress(1000)
			s := r.stop()
			c := p.finish()
			t.Logf("%d observations, %d stops; the target's counts: %v", s.Attempted, s.Stopped, c)
			for i := range 3 {
				if sent, got := c[fmt.Sprint("sent.", i)], c[fmt.Sprint("got.", i)]; sent != got {
					t.Errorf("thread %d got %d of %d real-time signals", i, got, sent)
				}
			}
			if c["usr.sent"] != c["usr.got"] {
				t.Errorf("%d of %d ordinary signals arrived", c["usr.got"], c["usr.sent"])
			}
			if c["disorder"] != 0 || c["wrong"] != 0 {
				t.Errorf("%d signals out of order, %d with wrong siginfo, want none", c["disorder"], c["wrong"])
			}
		})
	}
}

// The Go runtime preempts goroutines by SIGURG, which garbage collections need.
func TestNoSignalOfAGoProgramIsLost(t *testing.T) {
	for _, rung := range testtargets.First(rungs) {
		for mode, env := range map[string]string{"exact": "GODEBUG=asyncpreemptoff=1", "collect": "GODEBUG="} {
			t.Run(mode+"/"+rung, func(t *testing.T) {
				t.Setenv("GODEBUG", strings.TrimPrefix(env, "GODEBUG="))
				p := start(t, "urgent", mode)
				r := record(t, p.pid, "--rung", rung)
				r.awaitSamples(p.pid)
				p.awaitProgress(map[string]int64{"exact": 1000, "collect": 20}[mode])
				s := r.stop()
				c := p.finish()
				t.Logf("%d observations, %d stops; the target's counts: %v", s.Attempted, s.Stopped, c)
				if c["surplus"] != 0 || c["work"] == 0 || s.Stopped == 0 {
					t.Errorf("want stops, no surplus signal and work done: %+v; the target's counts: %v", s, c)
				}
				checkReleased(t, p.pid)
			})
		}
	}
}

func TestParentSeesEachStopAndContinueOnce(t *testing.T) {
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "jobs", "60")
			r := record(t, p.pid, "--rung", rung)
			r.awaitSamples(p.pid)
			if _, err := p.in.Write([]byte("g")); err != nil {
				t.Fatal(err)
			}
			c := p.finish()
			r.signal(2)
			r.wait()
			n := c["rounds"]
			if c["stops"] != n || c["conts"] != n || c["surplus"] != 0 || c["moved"] != 0 || c["woken"] != n ||
				c["sigchld"] != 2*n {
				t.Errorf("the target's counts are %v, want a stop, a continue, and two SIGCHLD a round, nothing moved",
					c)
			}
		})
	}
}
