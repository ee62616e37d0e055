// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"prywalk/ptrace"

	"prywalk/internal/testtargets"
)

const fuseStops = 50

// A read or write of a file may have had an effect when it gives EINTR: it is restarted for sockets only.
func TestReadsAndWritesOfAFUSEFileAreNotRestarted(t *testing.T) {
	testtargets.NeedRoot(t, "mount")
	_, err := os.Stat("/dev/fuse")
	testtargets.Need(t, err == nil, "FUSE", "modprobe fuse, or a container with /dev/fuse")
	p := start(t, "fuse")
	broken := int64(0)
	err = ptrace.Run(ptrace.Options{}, func(c *ptrace.Controller) error {
		for _, line := range p.lines {
			var tid int
			if n, _ := fmt.Sscanf(line, "thread %d", &tid); n != 1 {
				continue
			}
			for range fuseStops {
				await(t, "the thread sleeps", func() bool { return strings.HasPrefix(status(tid, "State"), "S") })
				var stop ptrace.Stop
				if err := c.StopThread(tid, ptrace.Now().Add(patience), &ptrace.Request{}, &stop); err != nil {
					return err
				}
				if stop.Repair.Restarted {
					t.Errorf("thread %d: a stop restarted call %d, want EINTR", tid, stop.Nr)
				}
				if stop.Repair.Broken {
					broken++
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	counts := p.finish()
	t.Logf("%d broken calls counted; the target's counts: %v", broken, counts)
	if counts["served_reads"] > counts["reads"] || counts["served_writes"] > counts["writes"] {
		t.Errorf("the server got more requests than calls were made: %v", counts)
	}
	if broken == 0 || counts["eintr"] > broken || counts["other"] != 0 {
		t.Errorf("%d broken calls counted; the target's counts are %v, want broken calls, no more eintr, other 0",
			broken, counts)
	}
}
