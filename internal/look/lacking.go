package look

import (
	"sync/atomic"

	"prywalk/frames"
)

// lacking has places at which walks of peeks lacked a register. It is a table without
// chains: a place that another one pushes out is found again by the next walk.
var lacking [1024]atomic.Uint64

// place gives the key under which it is noted that a peek at this place lacks a register.
// On x86-64 it depends on who called the function that sleeps, and so on the thread and
// the depth of its stack; on arm64 it is a matter of the function alone.
func (t *Thread) place(s *Shot) uint64 {
	if s.Regs.Arch == frames.AArch64 {
		return s.Regs.PC
	}
	return (s.Regs.PC*0x9e3779b97f4a7c15 ^ s.Regs.SP()*0xc2b2ae3d27d4eb4f ^ uint64(t.TID)*0x165667b19e3779f9) | 1
}

// slotOf gives where a place is noted.
func slotOf(place uint64) *atomic.Uint64 {
	return &lacking[place*0x9e3779b97f4a7c15>>54%uint64(len(lacking))]
}

// Unproven tells that the walk of a shot of this thread lacked a register that a peek
// cannot see. The thread is then frozen once in this sleep, and in later ones in the same
// place, where that is allowed and does not harm. Any goroutine may call it.
func (t *Thread) Unproven(s *Shot) {
	if s.How != ByPeek || !interruptible(t, &s.Call) {
		return
	}
	p := t.place(s)
	slotOf(p).Store(p)
	if !s.refused { // and would be again
		t.again.Store(true)
	}
}

// Root tells where the thread's outermost frame is: the stack pointer there, as of a
// complete walk. Any goroutine may call it.
func (t *Thread) Root(sp frames.Addr) {
	if t.root.Swap(sp) != sp && t.awaitsRoot.Swap(false) {
		t.again.Store(true)
	}
}

// mayFreezeSleepers reports whether any sleeper may be frozen.
func (l *Looker) mayFreezeSleepers() bool { return l.rung != OnlyPeek && !l.ctl.ReadOnly() }

// lacks reports whether a sleeping thread that was peeked at is to be frozen for a
// register that the peek lacks, and notes its call.
func (l *Looker) lacks(t *Thread, s *Shot) bool {
	p := t.place(s)
	if s.recalled || slotOf(p).Load() != p {
		return false
	}
	s.refused = !l.mayFreezeSleepers() || t.kept.back(&s.Call, s.Sched.Runs) || !interruptible(t, &s.Call) ||
		t.harmed() || !l.pause.allows(t)
	if !s.refused {
		t.asleepIn = s.Call
	}
	return !s.refused
}
