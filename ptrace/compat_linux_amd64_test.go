package ptrace

import "testing"

func TestThirtyTwoBitCodeIsRefusedAndGoesOn(t *testing.T) {
	p := start(t, "compat")
	with(t, Options{}, func(c *Controller) {
		refusedOnce := false
		for range 100 {
			var s Stop
			err := c.Freeze(p.tid, soon(), &Request{Stack: make([]byte, 64)}, &s)
			if err == Err32Bit {
				refusedOnce = true
			} else if err != nil || refusedOnce { // it may not be there yet at first
				t.Errorf("%v", err)
			}
		}
		if !refusedOnce {
			t.Error("never refused")
		}
	})
	if state(p.tid) != 'R' || tracer(p.tid) != 0 {
		t.Errorf("state %c, traced by %d", state(p.tid), tracer(p.tid))
	}
}
