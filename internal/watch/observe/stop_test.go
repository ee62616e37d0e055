// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

func TestLengthOfAStopBeginsAtTheStop(t *testing.T) {
	const us = time.Microsecond
	stop := func(running ptrace.Moment, runs uint64) *ptrace.Stop {
		return &ptrace.Stop{
			Times: ptrace.Times{InterruptedAt: 1000e3, LastRunningAt: running,
				StoppedAt: running.Add(5e3), DetachedAt: running.Add(40e3)},
			SchedOK: true, Sched: procmem.SchedStat{Runs: runs},
		}
	}
	for name, c := range map[string]struct {
		stop           *ptrace.Stop
		stopped, ranOn time.Duration
	}{
		"at once":                        {stop(1000e3, 7), 40 * us, 0},
		"on its way":                     {stop(1015e3, 7), 55 * us, 0},
		"at work in the kernel for long": {stop(3000e3, 7), 40*us + maxStopEntry, 2000*us - maxStopEntry},
		"queued for long":                {stop(3000e3, 8), 40 * us, 0},
	} {
		if stopped, ranOn := stopTimes(c.stop, 7); stopped != c.stopped || ranOn != c.ranOn {
			t.Errorf("%s: stopped for %v, ran on for %v, want %v and %v", name, stopped, ranOn, c.stopped, c.ranOn)
		}
	}
}
