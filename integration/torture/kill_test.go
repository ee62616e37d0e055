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
		unharmed(t, p.pid)
		if checkpoint {
			r.opens()
		}
		_ = os.RemoveAll(r.dir)
	}
	r := record(t, p.pid)
	r.awaitSamples(p.pid)
	p.works(20)
	s := r.stop()
	c := p.verdict()
	most := residue(kills, s)
	t.Logf("%d kills: %v; of %d freezes %d broke a call that began again: at most %d EINTR", kills, c, s.Frozen,
		s.Restarted, most)
	if c["eintr"] > most || c["woken"] != 0 || c["other"] != 0 {
		t.Errorf("the target saw %v", c)
	}
}

// residue gives how many EINTR the kills can have left: docs/noticed.md states what is lost with prywalk
// itself. A kill does it only if a look is between its interrupt and its repair, and would have had to repair. Four
// threads of the target are frozen at all, so that there are four such looks at a time at the most. The part of the
// looks that repair is measured by a recording that is not killed. The sum of rare events is more than five times its
// root above its mean once in a million tries.
func residue(kills int, s stats) int64 {
	mean := float64(kills) * 4 * float64(s.Restarted+1) / float64(s.Frozen+1)
	return int64(mean + 5*math.Sqrt(mean) + 1)
}
