package look

import "prywalk/frames"

// unprovenPlaces has places at which walks of peeks lacked a register. It is a table without
// chains: a place that another one pushes out is found again by the next walk.
type unprovenPlaces [1024]uint64

// placeOf numbers the place at which a peek at a thread lacks a register. On x86-64 it depends on who called the
// function that sleeps, and so on the thread and the depth of its stack. On arm64 it is a matter of the function
// alone.
func placeOf(tid int, s *Shot) uint64 {
	if s.Regs.Arch == frames.AArch64 {
		return s.Regs.PC
	}
	return (s.Regs.PC*0x9e3779b97f4a7c15 ^ s.Regs.SP()*0xc2b2ae3d27d4eb4f ^ uint64(tid)*0x165667b19e3779f9) | 1
}

// slot gives where a place is noted.
func (u *unprovenPlaces) slot(place uint64) *uint64 {
	return &u[place*0x9e3779b97f4a7c15>>54%uint64(len(u))]
}

// note notes a place, if it is one.
func (u *unprovenPlaces) note(place uint64) {
	if place != 0 {
		*u.slot(place) = place
	}
}

// has reports whether a place was noted.
func (u *unprovenPlaces) has(place uint64) bool { return *u.slot(place) == place }

// lacksRegister takes note of a walk that lacked a register.
func (k *Walks) lacksRegister(s *Shot) {
	if s.How != ByPeek || !interruptible(k.thread, &s.Call) {
		return
	}
	k.needs.Unproven = placeOf(k.thread.TID, s)
	if !s.refused { // and would be again
		k.needs.Retries++
	}
}

// mayFreezeSleepers reports whether any sleeper may be frozen.
func (l *Looker) mayFreezeSleepers() bool { return l.rung != OnlyPeek && !l.ctl.ReadOnly() }

// lacksRegister reports whether a sleeping thread that was peeked at is to be frozen for a
// register that the peek lacks, and notes its call.
func (l *Looker) lacksRegister(t *Thread, s *Shot) bool {
	if s.recalled || !l.unproven.has(placeOf(t.TID, s)) {
		return false
	}
	s.refused = !l.mayFreezeSleepers() || t.kept.back(&s.Call, s.Sched.Runs) || !interruptible(t, &s.Call) ||
		t.harmed() || !l.pause.allows(t)
	if !s.refused {
		t.asleepIn = s.Call
	}
	return !s.refused
}
