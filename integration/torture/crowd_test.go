// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func arrivals(tid int) int {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(tid), "schedstat"))
	f := strings.Fields(string(text))
	if len(f) < 3 {
		return 0
	}
	n, _ := strconv.Atoi(f[2])
	return n
}

func TestManyMoreThreadsRunThanThereAreProcessors(t *testing.T) {
	sizes := []int{200}
	if long {
		sizes = append(sizes, 300)
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := start(t, "crowd", strconv.Itoa(n))
			r := record(t, p.pid)
			r.awaitSamples(p.pid)
			// A thread that was asked to stop does so when it is scheduled next.
			begin := map[int]int{}
			for _, tid := range threads(p.pid) {
				begin[tid] = arrivals(tid)
			}
			await(t, "every thread has got a processor several times", func() bool {
				for tid, at := range begin {
					if arrivals(tid) < at+2 && tid != p.pid {
						return false
					}
				}
				return true
			})
			if n <= 256 {
				r.until("every thread is looked at", everybody(slices.Collect(maps.Keys(begin))))
			}
			s := r.stop()
			t.Logf("%+v", s)
			s.complete(t, int64(n)+4)
			if s.Queued == 0 || s.Frozen == 0 || (s.Failed["busy"] > 0) != (n > 256) || !s.queuedOnly("busy") {
				t.Errorf("%+v", s)
			}
			prof := r.profile()
			for tid := range begin {
				if samples, _ := samplesOf(prof, tid); samples == 0 && n <= 256 {
					t.Errorf("thread %d was never looked at", tid)
				}
			}
			unharmed(t, p.pid)
			if c := p.verdict(); c["eintr"] != 0 || c["work"] == 0 {
				t.Errorf("the target saw %v", c)
			}
		})
	}
}
