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

	"prywalk/internal/testtargets"
)

func runCount(tid int) int {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(tid), "schedstat"))
	f := strings.Fields(string(text))
	if len(f) < 3 {
		return 0
	}
	n, _ := strconv.Atoi(f[2])
	return n
}

func TestManyMoreRunningThreadsThanProcessorsAreSampled(t *testing.T) {
	sizes := []int{testtargets.Times(100, 200)}
	if long {
		sizes = append(sizes, 300)
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := start(t, "crowd", strconv.Itoa(n))
			r := record(t, p.pid)
			r.awaitSamples(p.pid)
			begin := map[int]int{}
			for _, tid := range threads(p.pid) {
				begin[tid] = runCount(tid)
			}
			await(t, "every thread has run twice", func() bool {
				for tid, at := range begin {
					if runCount(tid) < at+2 && tid != p.pid {
						return false
					}
				}
				return true
			})
			if n <= 256 {
				r.awaitCheckpoint("every thread has a sample", sampledAll(slices.Collect(maps.Keys(begin))))
			}
			s := r.stop()
			t.Logf("%+v", s)
			s.checkTicks(t, int64(n)+4)
			if s.LeftToLaterTick == 0 || s.Stopped == 0 || (s.Failed["busy"] > 0) != (n > 256) || !s.failedOnlyAs("busy") {
				t.Errorf("want stops, waits in the run queue, and \"busy\" as only reason of failures (if over 256 "+
					"threads): %+v", s)
			}
			prof := r.profile()
			for tid := range begin {
				if samples, _ := samplesOf(prof, tid); samples == 0 && n <= 256 {
					t.Errorf("thread %d has no sample", tid)
				}
			}
			checkReleased(t, p.pid)
			if c := p.finish(); c["eintr"] != 0 || c["work"] == 0 {
				t.Errorf("the target's counts are %v, want eintr 0 and work above 0", c)
			}
		})
	}
}
