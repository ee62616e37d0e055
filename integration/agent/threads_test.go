// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strconv"
	"testing"

	"prywalk/internal/testtargets"
)

func TestFiveThousandThreadsLoseNothing(t *testing.T) {
	testtargets.OnlyInAll(t, "5,000 threads, twice")
	const threads, most, memory = 5000, 256 << 10, 200 << 20
	for _, processes := range []int{1, 50} {
		t.Run(strconv.Itoa(processes), func(t *testing.T) {
			c := newCollector(t, "").start()
			loads := make([]*load, processes)
			args := []string{"--endpoint", "http://" + c.grpc, "--max-message", "256K"}
			for i := range loads {
				loads[i] = startLoadOf(t, threads/processes, 0)
				args = append(args, "-p", strconv.Itoa(loads[i].pid))
			}
			a := startAgent(t, loads[0], args...)
			eventuallyWithin(t, 3*patience, "all threads are sampled", func() bool {
				return a.metric("threads") == float64(threads+processes) && a.metric("observations_total") > 4*threads
			})
			windows := a.metric("windows_total")
			eventuallyWithin(t, 3*patience, "the aggregator has made a window since", func() bool {
				return a.metric("windows_total") > windows
			})
			var before, used int64
			for _, l := range loads {
				before += l.cpu()
				l.compute()
			}
			held := a.anonymous()
			for _, l := range loads {
				l.compute()
				used += l.cpu()
			}
			used -= before
			a.awaitTicks()
			held = max(held, a.anonymous())
			a.end()
			received := c.sums()
			compareSums(t, received, a.recorded())
			if cpu := ofClock(received, "cpu"); cpu < used {
				t.Errorf("%d processes: %d ns of CPU time received, want at least the %d charged while computing", processes, cpu,
					used)
			}
			seen := map[string]bool{}
			for _, m := range c.messages() {
				for pid := range m.Resources {
					seen[pid] = true
				}
				if m.Size > most {
					t.Errorf("%d processes: a message of %d bytes, want at most %d", processes, m.Size, most)
				}
			}
			t.Logf("%d processes: %d MB, %d messages", processes, held>>20, len(c.messages()))
			if held > memory || len(seen) != processes {
				t.Errorf("%d processes: %d sent, %d bytes of memory, want all and at most %d", processes, len(seen), held, memory)
			}
		})
	}
}
