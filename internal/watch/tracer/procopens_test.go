// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"os/exec"
	"regexp"
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

const renaming = `
import ctypes, sys
print("ready", flush=True)
sys.stdin.readline()
ctypes.CDLL(None).prctl(15, b"worker-1") # PR_SET_NAME
print("renamed", flush=True)
sys.stdin.readline()
`

func TestThreadWhoseOpeningTakesLongIsTrackedAtTheNextTick(t *testing.T) {
	cmd := exec.Command("python3", "-c", renaming)
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says := testtargets.Ready(t, cmd)
	pid := cmd.Process.Pid
	onTicksOver(t, Options{Freq: 99, Threads: regexp.MustCompile("^worker")}, pid, func(_ func(), c *Tracer) {
		if c.opens.open(); c.opens.byTracer() {
			t.Error("no opener")
			return
		}
		defer c.opens.close()
		p := c.tracked.procs[0]
		now := procmem.Now()
		c.listings.refresh(p, now)
		if p.Threads.Len() != 0 || !p.Threads.Knows(pid) {
			t.Errorf("%d threads are tracked, want none: it has another name", p.Threads.Len())
		}
		_, _ = fmt.Fprintln(orders)
		if line, err := says.ReadString('\n'); err != nil || line != "renamed\n" {
			t.Errorf("%q: %v", line, err)
		}
		// holdUp keeps the opener busy until release.
		holdUp := func() (release func()) {
			held := make(chan struct{})
			c.opens.opener.Start(func() { <-held })
			return func() { close(held) }
		}
		now += 2e9
		release := holdUp()
		if c.listings.refresh(p, now); p.Threads.Len() != 0 || !c.opens.busy() {
			t.Error("the opener was not held up")
		}
		release()
		c.opens.wait()
		defer holdUp()() // of a second opening
		c.opens.takeOrMake(p, 1<<30).Close()
		if c.listings.refresh(p, now+1e7); p.Threads.Of(pid) == nil {
			t.Error("the renamed thread is not tracked")
		}
	})
}
