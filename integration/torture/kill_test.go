// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

func TestKilledProfilerLeavesNoTrace(t *testing.T) {
	kills := testtargets.Times(10, 100)
	if long {
		kills = 1000
	}
	p := start(t, "mix", "8")
	for i := range kills {
		r := record(t, p.pid)
		r.awaitSamples(p.pid)
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond) // the subject: any moment of its work
		checkpoint := i%10 == 0
		if checkpoint {
			r.signal(syscall.SIGUSR1)
			await(t, "the checkpoint is written", func() bool {
				_, err := os.Stat(r.file)
				return err == nil
			})
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
	// docs/noticed.md: one where prywalk was between the interrupt and the repair of a call, of at most four stops
	// under way.
	most := int64(4 * kills)
	t.Logf("%d kills, the target's counts: %v; %d stops restarted %d calls when not killed: at most %d EINTR expected",
		kills, c, s.Stopped, s.Restarted, most)
	if c["eintr"] > most || c["woken"] != 0 || c["other"] != 0 {
		t.Errorf("the target's counts are %v, want woken and other 0, eintr at most %d", c, most)
	}
}
