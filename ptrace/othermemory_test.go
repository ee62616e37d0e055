// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bytes"
	"testing"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// prefetcher has one region read with the stack, and one afterwards.
type prefetcher struct {
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
		case !bytes.Equal(plain[redZone:], stack[redZone:]): // a leaf function changes its red zone
			t.Errorf("stack % x\nwithout prefetch % x", stack, plain)
		}
	})
}

type presentPrefetcher struct {
	prefetcher
	until int64
}

func (f *presentPrefetcher) PresentUntil() int64 { return f.until }

func TestPrefetchedRegionsAreReadInOneCall(t *testing.T) {
	p := start(t, "spin")
	memory := procmem.OpenMemory(p.tid)
	defer memory.Close()
	with(t, Options{}, func(c *Controller) {
		whole := Request{Stack: make([]byte, 1024)}
		var s Stop
		if err := c.StopThread(p.tid, soon(), &whole, &s); err != nil || s.StackLen < 512 {
			t.Errorf("first stop: %v, %d bytes", err, s.StackLen)
			return
		}
		page := s.StackAddr &^ 0xfff
		memory.SetSpans([]procmem.Span{{Start: page, End: page + 8<<10, Kind: procmem.Anonymous, Writable: true}})
		const places = 5
		calls := map[int64]int{}
		for _, until := range []int64{0, procmem.Now() + 1e12} {
			f := &presentPrefetcher{until: until}
			for i := range places {
				f.places = append(f.places, frames.Region{Addr: s.StackAddr + redZone + uint64(i*16), Bytes: make([]byte, 8)})
			}
			var out Stop
			req := Request{Stack: make([]byte, 64), OtherMemory: f, Memory: memory}
			if err := c.StopThread(p.tid, soon(), &req, &out); err != nil {
				t.Error(err)
				return
			}
			calls[until] = out.Calls
			for i := range f.places {
				if at := redZone + i*16; !f.prefetched || !bytes.Equal(f.places[i].Bytes, whole.Stack[at:at+8]) {
					t.Errorf("until %d: prefetched %v, region %d has % x", until, f.prefetched, i, f.places[i].Bytes)
				}
			}
		}
		for until, n := range calls {
			if until != 0 && n != calls[0]-places+1 {
				t.Errorf("%d calls, want %d less than the %d of single reads", n, places-1, calls[0])
			}
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
