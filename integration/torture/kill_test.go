package torture

import (
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
		r.awaitLooks(p.pid)
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		checkpoint := i%10 == 0
		if checkpoint {
			r.signal(syscall.SIGUSR1)
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
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
	before := cpu(p.pid)
	for end := time.Now().Add(20 * time.Second); cpu(p.pid) == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the target does not run: %s", describe(p.pid))
		}
	}
	c := p.verdict()
	t.Logf("%v", c)
	// The residue that docs/blocking-calls.md states: a kill between an interrupt and its repair, when the
	// thread was just entering its call.
	if c["eintr"] > int64(kills)/20 || c["woken"] != 0 || c["other"] != 0 {
		t.Errorf("the target saw %v", c)
	}
}
