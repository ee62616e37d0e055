// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bytes"
	"testing"

	"prywalk/internal/procmem"
)

func TestDeeperStackThanExpectedIsCopiedInTheSameStop(t *testing.T) {
	p := start(t, "spin")
	memory := procmem.OpenMemory(p.tid)
	defer memory.Close()
	with(t, Options{}, func(c *Controller) {
		whole := Request{Stack: make([]byte, 1024)}
		var s Stop
		if err := c.StopThread(p.tid, soon(), &whole, &s); err != nil || s.StackLen < 512 || s.InLarger {
			t.Errorf("first stop: %v, %d bytes, in the larger buffer %v", err, s.StackLen, s.InLarger)
			return
		}
		from := s.StackAddr
		page := from &^ 0xfff
		memory.SetSpans([]procmem.Span{{Start: page, End: page + 8<<10, Kind: procmem.Anonymous, Writable: true}})
		for _, m := range []*procmem.Memory{nil, memory} {
			for _, e := range []struct {
				top  uint64
				deep bool
				n    int
			}{
				{0, false, 64},
				{from + 64, false, 64},
				{from + 65, true, 65},
				{from + 512, true, 512},
				{from + 513, false, 64},
				{from - 8, false, 64},
			} {
				req := Request{Stack: make([]byte, 64), Larger: make([]byte, 512), CopyEnd: e.top, Memory: m}
				if err := c.StopThread(p.tid, soon(), &req, &s); err != nil {
					t.Error(err)
					return
				}
				got := req.Stack
				if s.InLarger {
					got = req.Larger
				}
				if s.InLarger != e.deep || s.StackLen != e.n || s.StackAsked != e.n || s.StackAddr != from {
					t.Errorf("mapping end at +%d: in the larger buffer %v, %d of %d bytes; want %v, %d", e.top-from, s.InLarger,
						s.StackLen, s.StackAsked, e.deep, e.n)
				} else if e.n > copiedBelowSP && !bytes.Equal(got[copiedBelowSP:e.n], whole.Stack[copiedBelowSP:e.n]) {
					t.Errorf("mapping end at +%d: other bytes than in the first stop", e.top-from)
				}
			}
		}
	})
}

func TestOutermostFramesAreCopiedInTheSameStop(t *testing.T) {
	p := start(t, "spin")
	memory := procmem.OpenMemory(p.tid)
	defer memory.Close()
	with(t, Options{}, func(c *Controller) {
		whole := Request{Stack: make([]byte, 1024)}
		var s Stop
		if err := c.StopThread(p.tid, soon(), &whole, &s); err != nil || s.StackLen < 600 {
			t.Errorf("first stop: %v, %d bytes", err, s.StackLen)
			return
		}
		from := s.StackAddr
		for _, e := range []struct {
			end, top uint64
			toEnd    bool
			deep     bool
			n, tail  int
		}{
			{600, 0, false, false, 64, 0},
			{600, 500, false, true, 128, 96},
			{600, 200, false, true, 200, 0},
			{600, 64, false, false, 64, 0},
			{600, 0, true, true, 128, 96},
			{250, 0, true, true, 250, 0},
			{60, 0, true, copiedBelowSP > 60, 60, 0}, // sp is behind the red zone
			{600, 260, false, true, 128, 96},
			{maxStack + 4096, 0, true, false, 64, 0},
		} {
			memory.SetSpans([]procmem.Span{{Start: from &^ 0xfff, End: from + e.end, Kind: procmem.Anonymous, Writable: true},
				{Start: from + e.end, End: from + e.end + 4096, Kind: procmem.NotMemory}})
			req := Request{Stack: make([]byte, 64), Larger: make([]byte, 256), ToMappingEnd: e.toEnd, Tail: make([]byte, 96),
				Memory: memory}
			if e.top != 0 {
				req.CopyEnd = from + e.top
			}
			if err := c.StopThread(p.tid, soon(), &req, &s); err != nil {
				t.Error(err)
				return
			}
			if s.StackLen != e.n || s.InLarger != e.deep || s.TailLen != e.tail {
				t.Errorf("%+v: %d bytes, in the larger buffer %v, tail of %d", e, s.StackLen, s.InLarger, s.TailLen)
				continue
			}
			end := e.top
			if e.toEnd {
				end = e.end
			}
			if at := s.TailAddr - from; e.tail > 0 &&
				(at != end-96 || !bytes.Equal(req.Tail[:e.tail], whole.Stack[at:end])) {
				t.Errorf("%+v: other bytes than in the first stop, from +%d", e, at)
			}
		}
	})
}
