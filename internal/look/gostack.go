package look

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/runtimes/golang"
	"prywalk/ptrace"
)

// goStack copies the goroutine's stack while its thread runs on the stack of the
// scheduler or of signal handlers, so that a walk can go on from one to the other.
// It is used for all threads of a process, one at a time.
type goStack struct {
	chase golang.Chase
	tls   int64 // from the thread pointer to the word that holds g

	slot, g, m, curg, g0 []byte
	stack, outer         []byte

	parts [3]frames.Region
	hints [1 << hintBits]goHint
}

// goHint is what a thread ran at its last look. Its m is its own for life, and mostly it
// still runs the same goroutine: then all is read in one call instead of three. What was
// read says whether it holds.
type goHint struct{ slot, m, g uint64 }

const hintBits = 10

// hint gives the place for the hint of the thread with this slot; others may share it.
func (e *goStack) hint(slot uint64) *goHint {
	return &e.hints[slot*0x9e3779b97f4a7c15>>(64-hintBits)]
}

// goStackCopy is how much of a goroutine's stack is copied at most, in bytes: from where the goroutine was left, so
// that it is all used. goOuterCopy is how much where that is not known, schedulerCopy how much of the scheduler's,
// which is no larger on most threads (runtime/proc.go, allocm; rt0_go for the first one).
const (
	goStackCopy   = 256 << 10
	goOuterCopy   = 32 << 10
	schedulerCopy = 64 << 10
	goTouched     = 32 << 10 // of the first: most stacks that go on there are no deeper
)

// GoStacks gives what a freeze of a thread of this process must copy besides the
// thread's stack; nil if it is not a Go program, or one whose layout its code does
// not show.
func GoStacks(p *code.Process) ptrace.Extra {
	m := p.Main()
	if m == nil {
		return nil
	}
	at, ok := m.Data.(*code.Mapping)
	if !ok || at.Image == nil {
		return nil
	}
	t := at.Image.GoTable()
	if t == nil {
		return nil
	}
	if c, ok := t.Chase(); ok {
		if e := newGoStack(p, m.Bias, c); e != nil {
			return e
		}
	}
	return nil
}

func newGoStack(p *code.Process, bias frames.Addr, c golang.Chase) *goStack {
	e := &goStack{chase: c, tls: c.TLS}
	if c.TLSSlot != 0 {
		var b [8]byte
		if n, _ := p.Memory().Read(p.MemoryTID(), c.TLSSlot+bias, b[:]); n != len(b) {
			return nil
		}
		e.tls = int64(binary.LittleEndian.Uint64(b[:]))
	} else if !c.HasTLS && hostArch() != frames.AArch64 {
		return nil
	}
	g, m := c.Size()
	e.slot, e.g, e.m, e.curg = make([]byte, 8), make([]byte, g), make([]byte, m), make([]byte, g)
	e.g0 = make([]byte, g)
	e.stack, e.outer = make([]byte, goStackCopy), make([]byte, schedulerCopy)
	touch(e.stack[:goTouched])
	return e
}

// Foresee implements [ptrace.Foreseer]: what the thread ran at its last look.
func (e *goStack) Foresee(regs *frames.Regs) []frames.Region {
	slot := regs.TLS + uint64(e.tls)
	h := e.hint(slot)
	if hostArch() == frames.AArch64 || h.slot != slot {
		return nil
	}
	e.parts = [3]frames.Region{{Addr: h.slot, Bytes: e.slot}, {Addr: h.m, Bytes: e.m}, {Addr: h.g, Bytes: e.g}}
	return e.parts[:]
}

// StackEnd implements [ptrace.StackEnder]: where the stack of the goroutine ends, if the thread still runs that of its
// last look, on its stack. What follows in memory belongs to others.
func (e *goStack) StackEnd(regs *frames.Regs) uint64 {
	h := e.hint(regs.TLS + uint64(e.tls))
	if !e.hinted(h) || word(e.m, e.chase.MCurg) != h.g || !e.holds(e.g, regs.SP()) {
		return 0
	}
	return word(e.g, e.chase.GStackHi)
}

// Regions implements [ptrace.Extra].
func (e *goStack) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	if len(out) < 6 { // slot, g, m, scheduler's stack, curg, its stack
		return 0
	}
	g, m, n := e.current(regs, rd, out)
	if g == 0 {
		return 0
	}
	out[n] = frames.Region{Addr: g, Bytes: e.g}
	out[n+1] = frames.Region{Addr: m, Bytes: e.m}
	n += 2
	c := &e.chase
	curg, on := word(e.m, c.MCurg), e.holds(e.g, regs.SP())
	if on && g == curg {
		return e.deep(rd, out, n)
	}
	// At the first instructions of a signal's handler g is still that of what it interrupted.
	signal := !on || g != word(e.m, c.MG0)
	if signal {
		n = e.scheduler(rd, out, n)
	}
	if curg == 0 {
		return n
	}
	if curg == g {
		copy(e.curg, e.g)
	} else if rd.Read(curg, e.curg) != len(e.curg) {
		return n
	} else {
		out[n] = frames.Region{Addr: curg, Bytes: e.curg}
		n++
	}
	from, size := e.span(signal)
	if size = rd.Read(from, e.stack[:size]); size == 0 {
		return n
	}
	out[n] = frames.Region{Addr: from, Bytes: e.stack[:size]}
	return n + 1
}

// deep copies what the copy of the stack has not got of the goroutine's: how large that is is known here, and what the
// next looks need only when this one was walked.
func (e *goStack) deep(rd *ptrace.Reader, out []frames.Region, n int) int {
	at, copied := rd.Stack()
	from, hi := at+uint64(copied), word(e.g, e.chase.GStackHi)
	if copied == 0 || from >= hi {
		return n
	}
	size := rd.Read(from, e.stack[:min(hi-from, goStackCopy)])
	if size == 0 {
		return n
	}
	out[n] = frames.Region{Addr: from, Bytes: e.stack[:size]}
	return n + 1
}

// holds reports whether an address is on the stack of a g.
func (e *goStack) holds(g []byte, sp uint64) bool {
	return sp >= word(g, e.chase.GStackLo) && sp <= word(g, e.chase.GStackHi)
}

// scheduler copies the outer part of the scheduler's stack: a signal can have interrupted that.
func (e *goStack) scheduler(rd *ptrace.Reader, out []frames.Region, n int) int {
	c := &e.chase
	g0 := word(e.m, c.MG0)
	if g0 == 0 || rd.Read(g0, e.g0) != len(e.g0) {
		return n
	}
	lo, hi := word(e.g0, c.GStackLo), word(e.g0, c.GStackHi)
	from := max(lo, hi-min(hi, schedulerCopy))
	if hi <= from {
		return n
	}
	size := rd.Read(from, e.outer[:hi-from])
	if size == 0 {
		return n
	}
	out[n] = frames.Region{Addr: from, Bytes: e.outer[:size]}
	return n + 1
}

// current reads the g that the thread runs, and its m, and gives the number of regions
// that were needed to find them: g is in thread-local storage, on arm64 in a register that C
// code may use for something else.
func (e *goStack) current(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) (g, m uint64, n int) {
	if hostArch() == frames.AArch64 {
		g, _ = regs.Get(e.chase.GReg)
		return e.running(g, rd, 0)
	}
	slot := regs.TLS + uint64(e.tls)
	if regs.TLS == 0 {
		return 0, 0, 0
	}
	out[0] = frames.Region{Addr: slot, Bytes: e.slot}
	h := e.hint(slot)
	if h.slot == slot && e.asHinted(h, regs, rd) {
		return h.g, h.m, 1
	}
	if rd.Read(slot, e.slot) != len(e.slot) {
		return 0, 0, 0
	}
	g, m, n = e.running(word(e.slot, 0), rd, 1)
	if g != 0 {
		*h = goHint{slot, m, g}
	}
	return g, m, n
}

// running reads a g and its m; 0 if it is none that runs here.
func (e *goStack) running(g uint64, rd *ptrace.Reader, regions int) (uint64, uint64, int) {
	if g == 0 || rd.Read(g, e.g) != len(e.g) {
		return 0, 0, 0
	}
	m := word(e.g, e.chase.GM)
	if m == 0 || rd.Read(m, e.m) != len(e.m) || !e.runs(g) {
		return 0, 0, 0
	}
	return g, m, regions
}

// asHinted reads what a thread ran at its last look, and reports whether it still does.
func (e *goStack) asHinted(h *goHint, regs *frames.Regs, rd *ptrace.Reader) bool {
	read := rd.Foreseen() || rd.ReadAll(e.Foresee(regs)) == len(e.slot)+len(e.m)+len(e.g)
	return read && e.hinted(h)
}

// hinted reports whether what was read is what the hint says.
func (e *goStack) hinted(h *goHint) bool {
	return word(e.slot, 0) == h.g && word(e.g, e.chase.GM) == h.m && e.runs(h.g)
}

// runs reports whether the m that was read can run g.
func (e *goStack) runs(g uint64) bool {
	c := &e.chase
	return hostArch() != frames.AArch64 || g == word(e.m, c.MG0) || g == word(e.m, c.MGsignal) || g == word(e.m, c.MCurg)
}

// span gives which part of the goroutine's stack to copy: from where it was left,
// or, when a signal interrupted it somewhere, the outer part.
func (e *goStack) span(signal bool) (from uint64, n int) {
	c := &e.chase
	lo, hi := word(e.curg, c.GStackLo), word(e.curg, c.GStackHi)
	from = word(e.curg, c.SchedSP)
	if signal || from < lo || from > hi {
		from = max(lo, hi-min(hi, goOuterCopy))
	}
	if hostArch() == frames.AArch64 {
		from = max(from, belowSP) - belowSP
	}
	if hi <= from {
		return from, 0
	}
	return from, int(min(hi-from, goStackCopy))
}

func word(b []byte, at int64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
