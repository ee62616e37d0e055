// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"

	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
)

// bearing is a program that starts threads when it is told to.
const bearing = `
import sys, threading, time
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    print("born", flush=True)
`

// TestBirthsWhileProcIsSlow: threads are born while the list of threads is read, before the kernel makes it and after.
// Who was not in it is met at the next tick, nobody twice, however long that took.
func TestBirthsWhileProcIsSlow(t *testing.T) {
	cmd := exec.Command("python3", "-c", bearing)
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says := testtargets.Ready(t, cmd)
	bear := func(n int) {
		if _, err := fmt.Fprintln(orders, n); err != nil {
			t.Error(err)
		}
		if line, err := says.ReadString('\n'); err != nil || line != "born\n" {
			t.Errorf("%q: %v", line, err)
		}
	}
	c := newTracer(Options{Freq: 99})
	defer c.births.close()
	if c.births.file == nil {
		t.Fatal("/proc/loadavg cannot be read")
	}
	c.admit(opened(t, cmd.Process.Pid))
	p := c.procs[0]
	now := procmem.Now()
	c.list(p, now)
	met := len(p.list.byTID)
	tick := func(took int64) {
		now += took
		c.counts.ticks++
		c.meetNewborn(p, now)
	}
	const late = 3e9 // nanoseconds that a read took
	for round := range 5 {
		calls := 0
		bear(2)
		c.births.slow = func() {
			if calls++; calls <= 2 {
				bear(1 + round) // first before the list is made, then after it
			}
		}
		tick(1e7)
		if got, want := len(p.list.byTID), met+2+1+round; got != want {
			t.Fatalf("round %d: %d threads are known, want %d: those that the list showed", round, got, want)
		}
		c.births.slow = nil
		tick(late)
		if met += 2 + 2*(1+round); len(p.list.byTID) != met {
			t.Fatalf("round %d: %d threads are known at the tick after, want %d", round, len(p.list.byTID), met)
		}
	}
	tids := slices.Clone(p.list.tids)
	slices.Sort(tids)
	if there, err := p.list.tasks.Count(); err != nil || there != met || len(slices.Compact(tids)) != met {
		t.Errorf("%d threads, %v; %d are known, %d in the list", there, err, met, len(tids))
	}
	for _, th := range p.list.inOrder[1:] {
		if !th.born {
			t.Errorf("thread %d counts as there from the start", th.look.TID)
		}
	}
	_ = orders.(io.Closer).Close()
}
