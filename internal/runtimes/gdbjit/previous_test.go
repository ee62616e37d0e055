// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"testing"

	"prywalk/frames"
)

// The clock moves by one at each query.
func (f *fake) dated() (c *Code, clock *int64) {
	clock = new(int64)
	c = New(listHost{fake: f})
	c.now = func() int64 { *clock++; return *clock }
	c.follow([]uint64{listAt})
	c.Refresh()
	return c, clock
}

// at returns the CFA's distance for a copy of a moment; -1: no rule, and no other source.
func at(c *Code, moment int64, pc uint64) int {
	c.SetTime(moment, true)
	r, _, ok := c.Rule(frames.Query{PC: pc})
	if ok && r.Flags&frames.FlagNoRule != 0 {
		return -1
	}
	if !ok {
		return 0
	}
	return int(r.CFAOff)
}

func TestCopiesAreWalkedByTheListOfTheirTime(t *testing.T) {
	f := newFake()
	f.register(node(0), imageAt, absolute("old", codeAt, 0x100, 16))
	c, clock := f.dated()
	*clock = 1000
	if got := at(c, 900, codeAt); got != 16 {
		t.Fatalf("the CFA is rsp+%d, want 16", got)
	}
	*clock = 2000
	c.SetTime(1990, true)
	f.unregister(node(0))
	f.register(node(1), imageAt+0x1000, absolute("new", codeAt, 0x100, 48))
	*clock = 3000
	if got := at(c, 1995, codeAt); got != -1 {
		t.Errorf("code that is replaced by now has the rule rsp+%d", got)
	}
	if got := at(c, 2500, codeAt); got != -1 {
		t.Errorf("it is not known which code ran, and yet: rsp+%d", got)
	}
	if got := at(c, 3100, codeAt); got != 48 {
		t.Errorf("after the change: rsp+%d, want 48", got)
	}
	if c.SetTime(3200, true) {
		t.Error("nothing has happened, and rules have changed")
	}
}

func TestCodeOfOneOfTwoVersionsIsOfThatVersion(t *testing.T) {
	f := newFake()
	f.register(node(0), imageAt, absolute("old", codeAt, 0x100, 16))
	c, clock := f.dated()
	*clock = 1000
	c.SetTime(1000, true)
	f.unregister(node(0))
	f.register(node(1), imageAt+0x1000, absolute("new", codeAt+0x100, 0x100, 48))
	*clock = 2000
	// It is unknown whether the copy was made before or after the change.
	if got := at(c, 1500, codeAt); got != -1 {
		t.Errorf("code that is gone by now has the rule rsp+%d", got)
	}
	if got := at(c, 1500, codeAt+0x100); got != 48 {
		t.Errorf("code that has come: rsp+%d, want 48", got)
	}
	if got := at(c, 1000, codeAt+0x100); got != -1 {
		t.Errorf("code that came later: rsp+%d", got)
	}
	if got := at(c, 2500, codeAt); got != 0 {
		t.Errorf("code that was gone by then: rsp+%d", got)
	}
	if got := name(c, codeAt); got != "old" {
		t.Errorf("named %q", got)
	}
}

func TestOlderVersionsAreForgotten(t *testing.T) {
	f := newFake()
	c, clock := f.dated()
	for i := range 50 {
		*clock = int64(i+1) * 1000
		f.register(node(i), imageAt+uint64(i)*0x400, absolute("f", codeAt, 0x100, byte(16*(i%4+1))))
		if i > 0 {
			f.unregister(node(i - 1))
		}
		c.SetTime(*clock, true)
	}
	if n := len(c.before); n > 1 {
		t.Errorf("%d pieces of code of before are kept", n)
	}
	if got := at(c, 2500, codeAt); got != -1 {
		t.Errorf("a copy of long ago: rsp+%d", got)
	}
}

func TestListIsReadOnlyIfAsked(t *testing.T) {
	f := newFake()
	f.register(node(0), imageAt, absolute("old", codeAt, 0x100, 16))
	c, _ := f.dated()
	f.reads = 0
	c.SetTime(1e6, false)
	if f.reads != 0 {
		t.Errorf("%d reads", f.reads)
	}
	if c.SetTime(1e6, true); f.reads != 2 {
		t.Errorf("%d reads, want 2", f.reads)
	}
}
