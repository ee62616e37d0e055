package ptrace

import (
	"bytes"
	"testing"

	"prywalk/internal/procmem"
)

// TestStackThatIsDeeperThanThoughtIsCopiedInTheSameStop: where its end is known, and there is room.
func TestStackThatIsDeeperThanThoughtIsCopiedInTheSameStop(t *testing.T) {
	p := start(t, "spin")
	memory := procmem.OpenMemory(p.tid)
	defer memory.Close()
	with(t, Options{}, func(c *Controller) {
		whole := Request{Stack: make([]byte, 1024)}
		var s Stop
		if err := c.Freeze(p.tid, soon(), &whole, &s); err != nil || s.StackLen < 512 || s.Deep {
			t.Errorf("%v: %d bytes, deep %v", err, s.StackLen, s.Deep)
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
				{0, false, 64}, // not known
				{from + 64, false, 64},
				{from + 65, true, 65},
				{from + 512, true, 512},
				{from + 513, false, 64}, // more than there is room for: it is not begun
				{from - 8, false, 64},
			} {
				req := Request{Stack: make([]byte, 64), Deep: make([]byte, 512), Top: e.top, Memory: m}
				if err := c.Freeze(p.tid, soon(), &req, &s); err != nil {
					t.Error(err)
					return
				}
				got := req.Stack
				if s.Deep {
					got = req.Deep
				}
				if s.Deep != e.deep || s.StackLen != e.n || s.StackAsked != e.n || s.StackAddr != from {
					t.Errorf("end at +%d: deep %v, %d of %d bytes", e.top-from, s.Deep, s.StackLen, s.StackAsked)
				} else if e.n > redZone && !bytes.Equal(got[redZone:e.n], whole.Stack[redZone:e.n]) {
					t.Errorf("end at +%d: other bytes", e.top-from)
				}
			}
		}
	})
}
