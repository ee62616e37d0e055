// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"testing"
)

func TestThirtyTwoBitCodeIsRefusedAndContinues(t *testing.T) {
	p := start(t, "compat")
	with(t, Options{}, func(c *Controller) {
		refusedOnce := false
		for stops, end := 0, soon(); stops < 100 && Now() < end; {
			var s Stop
			err := c.StopThread(p.tid, soon(), &Request{Stack: make([]byte, 64)}, &s)
			switch {
			case err == Err32Bit:
				refusedOnce = true
				stops++
			case err != nil || refusedOnce:
				t.Errorf("stop of 32-bit code: %v", err)
				return
			default:
				nanosleep(20_000)
			}
		}
		if !refusedOnce {
			t.Error("32-bit code was not refused")
		}
	})
	if state(p.tid) != 'R' || tracer(p.tid) != 0 {
		t.Errorf("state %c, tracer %d; want R, not traced", state(p.tid), tracer(p.tid))
	}
}
