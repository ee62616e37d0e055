// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

const bearing = `
import sys, threading, time
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    print("started", flush=True)
`

func TestThreadsThatBeginWhileTheListIsReadAreFoundAtTheNextTick(t *testing.T) {
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
		if line, err := says.ReadString('\n'); err != nil || line != "started\n" {
			t.Errorf("%q: %v", line, err)
		}
	}
	c := newTracer(target.SamplingOptions{Freq: 99})
	defer c.creations.close()
	if c.creations.file == nil {
		t.Fatal("/proc/loadavg cannot be read")
	}
	c.tracked.trackProcess(opened(t, cmd.Process.Pid))
	p := c.tracked.procs[0]
	now := ptrace.Now()
	c.listings.refresh(p, now)
	found := p.Threads.Len()
	tick := func(took time.Duration) {
		now = now.Add(took)
		c.shared.Tick.Number++
		c.newThreads.find(p, now)
	}
	const late = 3 * time.Second // ns
	for round := range 5 {
		reads := 0
		bear(2)
		c.newThreads.readTail = func(dir *procmem.TaskDir, from int, into []int) ([]int, error) {
			if reads++; reads > 1 {
				return dir.ListFrom(from, into)
			}
			bear(1 + round)
			tids, err := dir.ListFrom(from, into)
			bear(1 + round) // and after
			return tids, err
		}
		tick(1e7)
		if got, want := p.Threads.Len(), found+2+1+round; got != want {
			t.Fatalf("round %d: %d threads are known, want %d: those that the list showed", round, got, want)
		}
		c.newThreads.readTail = (*procmem.TaskDir).ListFrom
		tick(late)
		if found += 2 + 2*(1+round); p.Threads.Len() != found {
			t.Fatalf("round %d: %d threads are known at the tick after, want %d", round, p.Threads.Len(), found)
		}
	}
	if there, err := p.TaskDir.Count(); err != nil || there != found || p.Threads.Listed() != found {
		t.Errorf("%d threads, %v; %d are known, %d in the list", there, err, found, p.Threads.Listed())
	}
	for _, th := range p.Threads.All()[1:] {
		if !th.FromZero {
			t.Errorf("thread %d counts as there from the start", th.Observed.ID.TID)
		}
	}
	_ = orders.(io.Closer).Close()
}
