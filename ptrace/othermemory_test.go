// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bytes"
	"testing"

	"prywalk/frames"
)

type prefetcher struct {
	Wrapped
	places     []frames.Region
	prefetched bool
}

func (f *prefetcher) Prefetch(regs *frames.Regs) []frames.Region {
	if f.places[0].Addr == 0 {
		f.places[0].Addr = regs.PC
	}
	return f.places
}

func (f *prefetcher) Regions(_ *frames.Regs, rd *Reader, _ []frames.Region) int {
	f.prefetched = rd.Prefetched()
	return 0
}

func TestPrefetchedRegionsAreReadWithTheStack(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		plain, stack := make([]byte, 256), make([]byte, 256)
		var a, b Stop
		if err := c.StopThread(p.tid, soon(), &Request{Stack: plain, OtherMemory: textReader{}, Regions: []frames.Region{{}}},
			&a); err != nil {
			t.Error(err)
			return
		}
		code := make([]byte, 16)
		f := &prefetcher{places: []frames.Region{{Addr: p.lo, Bytes: code}, {Addr: a.Regs.SP(), Bytes: make([]byte, 8)}}}
		if err := c.StopThread(p.tid, soon(), &Request{Stack: stack, OtherMemory: f}, &b); err != nil {
			t.Error(err)
			return
		}
		var want [16]byte
		r := NewReader(p.tid, nil)
		r.Read(p.lo, want[:])
		switch {
		case !f.prefetched || !bytes.Equal(code, want[:]):
			t.Errorf("prefetched %v: code % x, want % x", f.prefetched, code, want)
		case a.StackAddr != b.StackAddr || a.StackLen != b.StackLen || b.StackAsked != len(stack):
			t.Errorf("stack at %#x, %d of %d bytes; without prefetch at %#x, %d", b.StackAddr, b.StackLen, b.StackAsked,
				a.StackAddr,
				a.StackLen)
		case !bytes.Equal(plain[copiedBelowSP:], stack[copiedBelowSP:]):
			t.Errorf("stack % x\nwithout prefetch % x", stack, plain)
		}
	})
}

func TestStackIsReadIfAPrefetchedRegionIsUnmapped(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		for _, at := range []int{0, 1} {
			f := &prefetcher{places: []frames.Region{{Addr: p.lo, Bytes: make([]byte, 8)}, {Addr: p.lo, Bytes: make([]byte, 8)}}}
			f.places[at].Addr = 8
			var s Stop
			stack := make([]byte, 256)
			if err := c.StopThread(p.tid, soon(), &Request{Stack: stack, OtherMemory: f}, &s); err != nil || f.prefetched ||
				s.StackLen != len(stack) {
				t.Errorf("unmapped region %d: %v, prefetched %v, %d bytes", at, err, f.prefetched, s.StackLen)
			}
		}
	})
}
