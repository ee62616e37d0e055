// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

func TestLengthOfAStopBeginsAtTheStop(t *testing.T) {
	const us = 1000
	stop := func(running, runs int64) *ptrace.Stop {
		return &ptrace.Stop{
			Times: ptrace.Times{InterruptedAt: 1000 * us, LastRunningAt: ptrace.Moment(running * us),
				StoppedAt: ptrace.Moment((running + 5) * us), DetachedAt: ptrace.Moment((running + 40) * us)},
			SchedOK: true, Sched: procmem.SchedStat{Runs: uint64(runs)},
		}
	}
	for name, c := range map[string]struct {
		stop           *ptrace.Stop
		stopped, ranOn int64
	}{
		"at once":                        {stop(1000, 7), 40 * us, 0},
		"on its way":                     {stop(1015, 7), 55 * us, 0},
		"at work in the kernel for long": {stop(3000, 7), 40*us + maxStopEntry, 2000*us - maxStopEntry},
		"queued for long":                {stop(3000, 8), 40 * us, 0},
	} {
		if stopped, ranOn := stopTimes(c.stop, 7); stopped != c.stopped || ranOn != c.ranOn {
			t.Errorf("%s: stopped for %d ns, ran on for %d, want %d and %d", name, stopped, ranOn, c.stopped, c.ranOn)
		}
	}
}
