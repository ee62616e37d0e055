package frames

import (
	"encoding/binary"
	"testing"
)

// twice walks a thread with its trail and without, look after look.
type twice struct {
	trail        Trail
	with         Walker
	without      Walker
	last, stack  []Frame
	looks, joins int
	skipped      int // frames
}

// look walks one copy of the stack both ways and fails where they differ.
func (p *twice) look(t testing.TB, s *Space, regs *Regs, mem *Snapshot, depth int) {
	t.Helper()
	p.looks++
	p.with.MaxDepth, p.without.MaxDepth = depth, depth
	p.without.Init(s, regs, mem)
	p.last, p.stack = p.stack, p.last[:0]
	n := 0
	for p.trail.Init(&p.with, s, regs, mem); p.trail.Next(); {
		p.next(t, n)
		n++
		if p.trail.Join() {
			n = p.jump(t, n)
		}
	}
	if p.without.Next() {
		t.Fatalf("look %d: the walk with the trail ends after %d frames, %v; the other has %+v", p.looks, n, p.with.StopReason(), p.without.Frame())
	}
	if p.with.StopReason() != p.without.StopReason() || p.with.Frame() != p.without.Frame() || p.with.Lacking() != p.without.Lacking() {
		t.Fatalf("look %d: ends as %v %+v %#x, without as %v %+v %#x", p.looks, p.with.StopReason(), p.with.Frame(), p.with.Lacking(),
			p.without.StopReason(), p.without.Frame(), p.without.Lacking())
	}
	p.sameRegs(t, n)
}

// next compares one frame.
func (p *twice) next(t testing.TB, n int) {
	t.Helper()
	if !p.without.Next() {
		t.Fatalf("look %d: without the trail the walk ends before frame %d, %v", p.looks, n, p.without.StopReason())
	}
	f := p.with.Frame()
	if f != p.without.Frame() {
		t.Fatalf("look %d frame %d: %+v with the trail, %+v without", p.looks, n, f, p.without.Frame())
	}
	p.stack = append(p.stack, f)
	p.sameRegs(t, n)
}

// jump compares the frames that were skipped; it gives the number of the frame to come.
func (p *twice) jump(t testing.TB, n int) int {
	t.Helper()
	skip := p.trail.Skipped()
	p.joins++
	p.skipped += skip.N
	var methods [NumMethods]int
	for i := range skip.N {
		f := p.last[skip.From+i]
		if !p.without.Next() || p.without.Frame() != f {
			t.Fatalf("look %d frame %d: %+v was skipped, the walk has %+v %v", p.looks, n+i, f, p.without.Frame(), p.without.StopReason())
		}
		methods[f.Method]++
		p.stack = append(p.stack, f)
	}
	if methods != skip.Methods {
		t.Fatalf("look %d: skipped frames by method: %v, told %v", p.looks, methods, skip.Methods)
	}
	if p.with.Frame() != p.without.Frame() || p.with.depth != p.without.depth {
		t.Fatalf("look %d: after skipping %d frames the walker is at %+v, depth %d; without at %+v, %d", p.looks, skip.N,
			p.with.Frame(), p.with.depth, p.without.Frame(), p.without.depth)
	}
	p.sameRegs(t, n+skip.N-1)
	return n + skip.N
}

// sameRegs compares the registers, those included that only the walker's insides may look at; but not
// the place of the return address, which is no register.
func (p *twice) sameRegs(t testing.TB, n int) {
	t.Helper()
	a, b := p.with.regs, p.without.regs
	if a.Arch == X86_64 {
		a.Val[X86RA], b.Val[X86RA] = 0, 0
	}
	if a != b {
		t.Fatalf("look %d frame %d: registers\n%+v with the trail,\n%+v without", p.looks, n, a, b)
	}
}

// putWord changes a word of a copied stack.
func putWord(mem *Snapshot, addr Addr, v uint64) {
	binary.LittleEndian.PutUint64(mem.Stack.Bytes[addr-mem.Stack.Addr:], v)
}
