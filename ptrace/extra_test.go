package ptrace

import (
	"bytes"
	"testing"

	"prywalk/frames"
)

// foreseer foresees places and notes what it was given.
type foreseer struct {
	places   []frames.Region
	foreseen bool
}

func (f *foreseer) Foresee(regs *frames.Regs) []frames.Region {
	if f.places[0].Addr == 0 {
		f.places[0].Addr = regs.PC
	}
	return f.places
}

func (f *foreseer) Regions(_ *frames.Regs, rd *Reader, _ []frames.Region) int {
	f.foreseen = rd.Foreseen()
	return 0
}

func TestForeseenPlacesAreReadTogetherWithTheStack(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		plain, stack := make([]byte, 256), make([]byte, 256)
		var a, b Stop
		if err := c.Freeze(p.tid, soon(), &Request{Stack: plain, Extra: textReader{}, Regions: []frames.Region{{}}}, &a); err != nil {
			t.Error(err)
			return
		}
		code := make([]byte, 16)
		f := &foreseer{places: []frames.Region{{Addr: p.lo, Bytes: code}, {Addr: a.Regs.SP(), Bytes: make([]byte, 8)}}}
		if err := c.Freeze(p.tid, soon(), &Request{Stack: stack, Extra: f}, &b); err != nil {
			t.Error(err)
			return
		}
		var want [16]byte
		r := ReaderOf(p.tid, nil)
		r.Read(p.lo, want[:])
		switch {
		case !f.foreseen || !bytes.Equal(code, want[:]):
			t.Errorf("foreseen %v: % x, want % x", f.foreseen, code, want)
		case a.StackAddr != b.StackAddr || a.StackLen != b.StackLen || b.StackAsked != len(stack):
			t.Errorf("stack at %#x, %d of %d bytes, without at %#x, %d", b.StackAddr, b.StackLen, b.StackAsked, a.StackAddr, a.StackLen)
		case !bytes.Equal(plain[redZone:], stack[redZone:]): // a leaf function changes its red zone
			t.Errorf("stack % x\nwithout % x", stack, plain)
		}
	})
}

func TestStackIsReadAloneWhereAForeseenPlaceIsNotThere(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		for _, at := range []int{0, 1} {
			f := &foreseer{places: []frames.Region{{Addr: p.lo, Bytes: make([]byte, 8)}, {Addr: p.lo, Bytes: make([]byte, 8)}}}
			f.places[at].Addr = 8
			var s Stop
			stack := make([]byte, 256)
			if err := c.Freeze(p.tid, soon(), &Request{Stack: stack, Extra: f}, &s); err != nil || f.foreseen || s.StackLen != len(stack) {
				t.Errorf("place %d: %v, foreseen %v, %d bytes", at, err, f.foreseen, s.StackLen)
			}
		}
	})
}
