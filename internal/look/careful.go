package look

import (
	"prywalk/internal/procmem"
	"prywalk/internal/skid"
)

// # Who is queued
//
// A thread that waits for a processor stops when it gets one, tens of milliseconds later on a busy machine. A tracer that
// may stand still itself by then, for its CPU quota, would leave the thread standing. So it stops only who is on a
// processor at that moment ([procmem.ThreadFiles.OnProcessor]), who stops within microseconds. That favours nobody: time
// is charged to who is on a processor, and the thread whose processor the tracer has taken is one of those that are not,
// wherever the tracer runs. It moves from processor to processor, therefore. A thread that makes many system calls, or of
// which that is not known yet, is stopped where the tracer has taken its processor, too: only such looks tell where it is
// (package skid).

// passedFor is for how long a thread may be found queued at each look until it is stopped all the same, in nanoseconds.
// What it has computed would be booked as not observed if it took longer.
const passedFor = 4e9

// OnlyOnProcessors has the looker stop only threads that are on a processor, but for one that is never found there. Where
// the kernel does not tell, all are stopped as before.
func (l *Looker) OnlyOnProcessors() { l.careful = true }

// waitsForTurn reports whether a thread is to be left alone because it is queued.
func (l *Looker) waitsForTurn(t *Thread, asleep bool) bool {
	if !l.careful || asleep {
		return false
	}
	if on, known := t.files.OnProcessor(); on || !known {
		return false
	}
	if t.skid.Basis() != skid.FewCalls && l.tracer.Judge(&t.skid, t.files, t.lastRun(), l.wake()) && t.skid.Preempted() {
		return false
	}
	now := procmem.Now()
	if t.passed == 0 {
		t.passed = now
	}
	return now-t.passed < passedFor
}
