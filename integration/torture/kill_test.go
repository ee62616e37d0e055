// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"math"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestKilledProfilerLeavesNoTrace(t *testing.T) {
	kills := 100
	if long {
		kills = 1000
	}
	p := start(t, "mix", "8")
	for i := range kills {
		r := record(t, p.pid)
		r.awaitSamples(p.pid)
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		checkpoint := i%10 == 0
		if checkpoint {
			r.signal(syscall.SIGUSR1)
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if _, err := os.Stat(r.file); err == nil {
					break
				}
			}
		}
		r.signal(syscall.SIGKILL)
		r.wait()
		checkReleased(t, p.pid)
		if checkpoint {
			r.checkReport()
		}
		_ = os.RemoveAll(r.dir)
	}
	r := record(t, p.pid)
	r.awaitSamples(p.pid)
	p.awaitProgress(20)
	s := r.stop()
	c := p.finish()
	most := maxInterrupted(kills, s)
	t.Logf("%d kills, the target's counts: %v; %d stops restarted %d calls when not killed: at most %d EINTR expected",
		kills, c, s.Frozen, s.Restarted, most)
	if c["eintr"] > most || c["woken"] != 0 || c["other"] != 0 {
		t.Errorf("the target's counts are %v, want woken and other 0, eintr at most %d", c, most)
	}
}

// maxInterrupted bounds the EINTR that kills can cause (docs/noticed.md): one where prywalk was between the interrupt
// and the repair of a call, of at most four stops under way. A Poisson count exceeds its mean by five standard
// deviations once in a million tries.
func maxInterrupted(kills int, s stats) int64 {
	mean := float64(kills) * 4 * float64(s.Restarted+1) / float64(s.Frozen+1)
	return int64(mean + 5*math.Sqrt(mean) + 1)
}
