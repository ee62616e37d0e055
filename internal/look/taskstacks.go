// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/ptrace"
)

// taskStacks copies the stack of a task (a goroutine) while its thread runs on the stack of the scheduler or of
// signal handlers. It carries out what the run-time system says as data, for all threads of a process, one at a
// time. g, m, curg and g0 are copies of descriptions, by the names that they have in Go. They are those of the
// running task, of its worker, of the task that the worker has, and of its scheduler.
type taskStacks struct {
	of managed.Tasks

	slot, g, m, curg, g0 []byte
	stack, outer         []byte

	parts [3]frames.Region
	hints [1 << hintBits]taskHint
}

// taskHint is what a thread ran at its last look. Its m is its own for life, and mostly it
// still runs the same goroutine: then all is read in one call instead of three. What was
// read says whether it holds.
type taskHint struct{ slot, m, g uint64 }

const hintBits = 10

// hint gives the place for the hint of the thread with this slot; others may share it.
func (e *taskStacks) hint(slot uint64) *taskHint {
	return &e.hints[slot*0x9e3779b97f4a7c15>>(64-hintBits)]
}

// taskStackCopy is how much of a goroutine's stack is copied at most, in bytes: from where the goroutine was left, so
// that it is all used. taskOuterCopy is how much where that is not known, schedulerCopy how much of the scheduler's,
// which is no larger on most threads (runtime/proc.go, allocm; rt0_go for the first one).
const (
	taskStackCopy = 256 << 10
	taskOuterCopy = 32 << 10
	schedulerCopy = 64 << 10
	taskTouched   = 32 << 10 // of the first: most stacks that go on there are no deeper
)

// TaskStacks gives what a freeze of a thread of this process must copy besides the thread's stack. A walk can then
// go on on that of the task which the thread has left. It is nil if no run-time system knows of such stacks.
func TaskStacks(p *code.Process) ptrace.Extra {
	t := p.Tasks()
	if t == nil {
		return nil
	}
	e := &taskStacks{
		of: *t, slot: make([]byte, 8), g: make([]byte, t.TaskSize), m: make([]byte, t.WorkerSize),
		curg: make([]byte, t.TaskSize), g0: make([]byte, t.TaskSize),
		stack: make([]byte, taskStackCopy), outer: make([]byte, schedulerCopy),
	}
	touch(e.stack[:taskTouched])
	return e
}

// Prefetch implements [ptrace.Prefetcher]: what the thread ran at its last look.
func (e *taskStacks) Prefetch(regs *frames.Regs) []frames.Region {
	slot := regs.TLS + uint64(e.of.TLS)
	h := e.hint(slot)
	if e.of.InRegister || h.slot != slot {
		return nil
	}
	e.parts = [3]frames.Region{{Addr: h.slot, Bytes: e.slot}, {Addr: h.m, Bytes: e.m}, {Addr: h.g, Bytes: e.g}}
	return e.parts[:]
}

// StackEnd implements [ptrace.StackEnder]: where the stack of the goroutine ends, if the thread runs one on its stack.
// What follows in memory belongs to others.
func (e *taskStacks) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	h := e.hint(regs.TLS + uint64(e.of.TLS))
	if !e.hinted(h) && !e.another(h, rd) || word(e.m, e.of.Current) != h.g || !e.holds(e.g, regs.SP()) {
		return 0
	}
	return word(e.g, e.of.StackHi)
}

// another reads the goroutine that the thread runs now, where that is not the one of its last look. Its m was read.
func (e *taskStacks) another(h *taskHint, rd *ptrace.Reader) bool {
	g := word(e.slot, 0)
	if g == 0 || g == h.g || g != word(e.m, e.of.Current) || rd.Read(g, e.g) != len(e.g) || word(e.g, e.of.Worker) != h.m {
		return false
	}
	h.g = g
	return true
}

// Regions implements [ptrace.Extra].
func (e *taskStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
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
	c := &e.of
	curg, on := word(e.m, c.Current), e.holds(e.g, regs.SP())
	if on && g == curg {
		return e.deep(rd, out, n)
	}
	// At the first instructions of a signal's handler g is still that of what it interrupted.
	signal := !on || g != word(e.m, c.Scheduler)
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

// deep copies what the copy of the stack has not got of the goroutine's. How large that is is known here, and what
// the next looks need only when this one was walked.
func (e *taskStacks) deep(rd *ptrace.Reader, out []frames.Region, n int) int {
	at, copied := rd.Stack()
	from, hi := at+uint64(copied), word(e.g, e.of.StackHi)
	if copied == 0 || from >= hi {
		return n
	}
	size := rd.Read(from, e.stack[:min(hi-from, taskStackCopy)])
	if size == 0 {
		return n
	}
	out[n] = frames.Region{Addr: from, Bytes: e.stack[:size]}
	return n + 1
}

// holds reports whether an address is on the stack of a g.
func (e *taskStacks) holds(g []byte, sp uint64) bool {
	return sp >= word(g, e.of.StackLo) && sp <= word(g, e.of.StackHi)
}

// scheduler copies the outer part of the scheduler's stack: a signal can have interrupted that.
func (e *taskStacks) scheduler(rd *ptrace.Reader, out []frames.Region, n int) int {
	c := &e.of
	g0 := word(e.m, c.Scheduler)
	if g0 == 0 || rd.Read(g0, e.g0) != len(e.g0) {
		return n
	}
	lo, hi := word(e.g0, c.StackLo), word(e.g0, c.StackHi)
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

// current reads the g that the thread runs, and its m, and gives the number of regions that were needed to find
// them. g is in thread-local storage, on arm64 in a register that C code may use for something else.
func (e *taskStacks) current(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) (g, m uint64, n int) {
	if e.of.InRegister {
		g, _ = regs.Get(e.of.Register)
		return e.running(g, rd, 0)
	}
	slot := regs.TLS + uint64(e.of.TLS)
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
		*h = taskHint{slot, m, g}
	}
	return g, m, n
}

// running reads a g and its m; 0 if it is none that runs here.
func (e *taskStacks) running(g uint64, rd *ptrace.Reader, regions int) (uint64, uint64, int) {
	if g == 0 || rd.Read(g, e.g) != len(e.g) {
		return 0, 0, 0
	}
	m := word(e.g, e.of.Worker)
	if m == 0 || rd.Read(m, e.m) != len(e.m) || !e.runs(g) {
		return 0, 0, 0
	}
	return g, m, regions
}

// asHinted reads what a thread ran at its last look, and reports whether it still does.
func (e *taskStacks) asHinted(h *taskHint, regs *frames.Regs, rd *ptrace.Reader) bool {
	read := rd.Prefetched() || rd.ReadAll(e.Prefetch(regs)) == len(e.slot)+len(e.m)+len(e.g)
	return read && e.hinted(h)
}

// hinted reports whether what was read is what the hint says.
func (e *taskStacks) hinted(h *taskHint) bool {
	return word(e.slot, 0) == h.g && word(e.g, e.of.Worker) == h.m && e.runs(h.g)
}

// runs reports whether the m that was read can run g.
func (e *taskStacks) runs(g uint64) bool {
	c := &e.of
	return !e.of.InRegister || g == word(e.m, c.Scheduler) || g == word(e.m, c.Signals) || g == word(e.m, c.Current)
}

// span gives which part of the goroutine's stack to copy: from where it was left,
// or, when a signal interrupted it somewhere, the outer part.
func (e *taskStacks) span(signal bool) (from uint64, n int) {
	c := &e.of
	lo, hi := word(e.curg, c.StackLo), word(e.curg, c.StackHi)
	from = word(e.curg, c.SavedSP)
	if signal || from < lo || from > hi {
		from = max(lo, hi-min(hi, taskOuterCopy))
	}
	if hostArch() == frames.AArch64 {
		from = max(from, belowSP) - belowSP
	}
	if hi <= from {
		return from, 0
	}
	return from, int(min(hi-from, taskStackCopy))
}

func word(b []byte, at int64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
