// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/watch/target"
)

func TestProcessThatEndsEndsTheRun(t *testing.T) {
	started := start(t, "ends")
	r := record(t, target.SamplingOptions{}, patience, func(s *Sampler) {
		stopped(t, s, 5)
		started.signal(t, unix.SIGUSR1)
	}, started.pid)
	if r.Seconds > 0.9*patience.Seconds() || r.ProfiledCPU == 0 {
		t.Errorf("%v s, %v s of CPU", r.Seconds, r.ProfiledCPU)
	}
}

func TestKilledProcessEndsTheRun(t *testing.T) {
	started := start(t, "mixed", "5")
	r := record(t, target.SamplingOptions{}, patience, func(s *Sampler) {
		stopped(t, s, 5)
		started.signal(t, unix.SIGKILL)
	}, started.pid)
	if r.Seconds > 0.9*patience.Seconds() || r.sumOf(3, in("burn_here")) == 0 {
		t.Errorf("%v s, %v s of CPU", r.Seconds, r.ProfiledCPU)
	}
}

func TestPanicOfThePartsIsAnErrorAndKeepsWhatWasSeen(t *testing.T) {
	for _, part := range []string{"aggregator", "tracer"} {
		t.Run(part, func(t *testing.T) {
			started := start(t, "mixed", "3")
			o := target.SamplingOptions{}
			breakIt := func(s *Sampler) {
				stopped(t, s, 5)
				s.control.Admit(&target.Process{})
			}
			if part == "aggregator" {
				o.Checkpoint = func(Checkpointing) { panic("as the test wants it") }
				breakIt = func(s *Sampler) { stopped(t, s, 5); s.CheckpointNow() }
			}
			r := record(t, o, patience, breakIt, started.pid)
			if r.err == nil || strings.Contains(r.err.Error(), "\n") ||
				!strings.Contains(r.err.Error(), "_test.go:") && !strings.Contains(r.err.Error(), "tracked.go:") {
				t.Errorf("error %v", r.err)
			}
			if r.sumOf(0, every) == 0 || r.sumOf(3, in("burn_here")) == 0 {
				t.Error("the recording is empty")
			}
			noThreadIsTraced(t, started.pid)
			if s := state(started.pid); s == "t" || s == "T" {
				t.Errorf("state %s", s)
			}
		})
	}
}

func TestARecordingHasOneTickHoweverSoonItEnds(t *testing.T) {
	started := start(t, "sleepers", "5")
	allAsleep(t, started.pid)
	r := record(t, target.SamplingOptions{}, 0, nil, started.pid)
	if r.PassiveReads < 6 || r.Samples < 6 || r.ThreadsMax != 6 {
		t.Errorf("%+v", r.Stats)
	}
	if r.Begun.Before(r.begun) || r.Begun.After(r.ended) {
		t.Errorf("began at %v, between %v and %v", r.Begun, r.begun, r.ended)
	}
}
