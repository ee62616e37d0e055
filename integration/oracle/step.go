// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"prywalk/frames"
)

// step returns true at the section's end: the program ended or a signal led elsewhere.
func (o *run) step(k kind) (bool, error) {
	var nr uint64
	o.prev = o.regs
	if k == system {
		var err error
		if nr, err = readRegs(o.pid, &o.regs); err != nil {
			return false, err
		}
	}
	if err := unix.PtraceSingleStep(o.pid); err != nil {
		return false, fmt.Errorf("step: %w", err)
	}
	sig, err := o.wait()
	if err != nil || o.ended {
		return true, err
	}
	if sig != unix.SIGTRAP {
		return o.signal(sig)
	}
	if _, err := readRegs(o.pid, &o.regs); err != nil {
		return false, err
	}
	if err := o.follow(k); err != nil {
		return false, err
	}
	if k == system && mapsMemory(nr) {
		return false, o.refresh()
	}
	return false, nil
}

func mapsMemory(nr uint64) bool {
	return slices.Contains([]uint64{unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_BRK}, nr)
}

func (o *run) follow(k kind) error {
	pc, sp := o.regs.PC, o.regs.SP()
	if d := int64(sp - o.prev.SP()); d > farSP || d < -farSP {
		o.switched(k)
	}
	onStack := o.regs.Arch == frames.X86_64
	if k == call {
		o.judgePending(false)
		o.called(onStack)
		return nil
	}
	if o.moving && (k == ret || k == jumpTo && !o.files.sameFunction(o.prev.PC, pc)) {
		o.arrived(onStack)
		return nil
	}
	before := len(o.cur.calls)
	o.returnsMoved(k)
	o.cur.popReturned(pc, sp, k == ret, onStack)
	if k == jumpTo {
		o.landed()
	}
	if len(o.pending) > 0 && (k == ret || isJump(o.prev.PC, pc) && !o.files.sameFunction(o.prev.PC, pc)) {
		o.judgePending(len(o.cur.calls) <= before)
	}
	return nil
}

// landed removes the callers whose frames a jump has left without moving the stack pointer beyond their slot (on arm64
// the stack pointer at the call). longjmp and exceptions lead into the middle of the calling function, a linkage
// table's stub to a function's first instruction.
func (o *run) landed() {
	for n := len(o.cur.calls); n > 0; n-- {
		a := &o.cur.calls[n-1]
		if a.slot != o.regs.SP() || !o.files.sameFunction(a.pc-o.regs.Arch.CallLen(), o.regs.PC) {
			return
		}
		o.cur.calls = o.cur.calls[:n-1]
		o.cur.base = min(o.cur.base, n-1)
	}
}

func (fs *files) sameFunction(a, b uint64) bool {
	m := fs.proc.Space().ModuleAt(b)
	if m == nil || m != fs.proc.Space().ModuleAt(a) || m.Calls == nil {
		return false
	}
	f, known := m.Calls.FuncStart(a - m.Bias)
	g, ok := m.Calls.FuncStart(b - m.Bias)
	return known && ok && f == g && b-m.Bias != g
}

func isJump(prev, pc uint64) bool { return pc-prev > maxInsn }

func (o *run) called(onStack bool) {
	sp := o.regs.SP()
	if !onStack {
		o.cur.push(activation{pc: o.prev.PC + 4, slot: sp, sp: sp})
		return
	}
	back, ok := liveMemory(o.pid).Word(sp)
	if ok && sp == o.prev.SP()-8 && back-o.prev.PC <= maxInsn && back > o.prev.PC {
		fp, _ := o.prev.Get(frames.X86RBP)
		o.cur.push(activation{pc: back, slot: sp, sp: sp + 8, fp: fp})
	}
}

const farSP = 1024

// stackID identifies the stack of sp: by its mapping, in a Go program by the goroutine.
func (o *run) stackID(sp uint64) uint64 {
	if o.isGo {
		return o.goStack(sp)
	}
	return o.proc.StackEnd(sp - 1)
}

// Offsets in runtime/runtime2.go: g.stack, g.m, m.g0.
const (
	goStackHi = 8
	goM       = 48
)

// goStack returns the current g, or the scheduler's: calls into the vDSO change to its stack without changing g.
func (o *run) goStack(sp uint64) uint64 {
	mem := liveMemory(o.pid)
	g, _ := o.regs.Get(28)
	if o.regs.Arch == frames.X86_64 {
		g, _ = mem.Word(o.regs.TLS - 8)
	}
	lo, _ := mem.Word(g)
	hi, _ := mem.Word(g + goStackHi)
	if sp > lo && sp <= hi {
		return g
	}
	m, _ := mem.Word(g + goM)
	g0, _ := mem.Word(m)
	return g0
}

// followCopy moves the frames when the runtime has copied them to a larger stack, whose place is in g.sched.
func (o *run) followCopy() {
	s := o.cur.below
	if !o.isGo || s == nil {
		return
	}
	mem := liveMemory(o.pid)
	lo, _ := mem.Word(s.id)
	hi, _ := mem.Word(s.id + goStackHi)
	sp, _ := mem.Word(s.id + uint64(o.schedSP))
	if hi != s.hi && sp > lo && sp <= hi {
		s.shift(hi - s.hi)
		s.hi = hi
	}
}

// left reports whether the scheduler, on whose stack the thread is, has left its goroutine: the chain ends.
func (o *run) left() bool {
	if !o.isGo || o.cur.below == nil {
		return false
	}
	mem := liveMemory(o.pid)
	m, _ := mem.Word(o.cur.id + goM)
	curg, ok := mem.Word(m + uint64(o.mcurg))
	return ok && curg == 0
}

func (o *run) switched(k kind) {
	id := o.stackID(o.regs.SP())
	if id == o.cur.id {
		return
	}
	mem := liveMemory(o.pid)
	if o.isGo {
		o.cur.hi, _ = mem.Word(o.cur.id + goStackHi)
	}
	from := o.cur
	s := o.stacks[id]
	switch {
	case s != nil && (!o.isGo || s == from.below || from.below == nil):
		o.cur = s
		if from.below == s || o.isGo {
			delete(o.stacks, from.id)
		}
		if o.isGo {
			hi, _ := mem.Word(id + goStackHi)
			s.shift(hi - s.hi)
		}
	default:
		s = &shadow{id: id, entered: o.isGo}
		if o.isGo && o.files.funcName(o.prev.PC) != "runtime.mcall" {
			s.below = from
		}
		o.cur = s
		o.stacks[id] = s
	}
	o.moving = !o.isGo && k != system
}

func (s *shadow) shift(by uint64) {
	for i := range s.calls {
		s.calls[i].slot += by
		s.calls[i].sp += by
	}
}

func (o *run) arrived(onStack bool) {
	o.moving = false
	o.judgePending(true)
	o.cur.popReturned(o.regs.PC, o.regs.SP(), true, onStack)
	if !onStack {
		o.landed()
	}
	if len(o.cur.calls) > 0 || o.cur.below != nil {
		return
	}
	if lr, ok := o.regs.Get(frames.ARM64LR); ok && !onStack {
		o.cur.push(activation{pc: lr, slot: o.regs.SP(), sp: o.regs.SP()})
		return
	}
	if back, ok := liveMemory(o.pid).Word(o.regs.SP()); ok && onStack {
		o.cur.push(activation{pc: back, slot: o.regs.SP(), sp: o.regs.SP() + 8})
	}
}

func (o *run) signal(sig unix.Signal) (bool, error) {
	if _, err := readRegs(o.pid, &o.regs); err != nil {
		return false, err
	}
	before := o.regs
	if err := unix.PtraceCont(o.pid, int(sig)); err != nil {
		return false, fmt.Errorf("deliver signal: %w", err)
	}
	got, err := o.wait()
	if err != nil || o.ended {
		return true, err
	}
	name, ok, err := "", false, error(nil)
	if got == unix.SIGTRAP {
		name, ok, err = o.mark()
	}
	if err != nil || !ok || name != "signal" {
		return true, err
	}
	sp := o.regs.SP()
	if id := o.stackID(sp); id != o.cur.id {
		o.cur = &shadow{id: id, below: o.cur}
		o.stacks[id] = o.cur
	}
	back, _ := liveMemory(o.pid).Word(sp)
	o.cur.push(activation{pc: before.PC, slot: before.SP() - 1, sp: before.SP()})
	o.cur.push(activation{pc: back, slot: sp, sp: sp + 8})
	return false, nil
}
