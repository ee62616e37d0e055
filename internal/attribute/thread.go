// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"prywalk/internal/sample"
)

// Look is a look at a thread as its account needs it.
type Look struct {
	At    sample.Reading
	Seen  Seen
	OnCPU bool
	Basis sample.Basis
	// Before tells of the ticks before it.
	Before sample.Unchanged
	// Apart is the time between the tick of the look and the one before, in nanoseconds.
	Apart int64
	// Sampled: it is a sample of the kernel's.
	Sampled bool
}

// sampled reports whether the look is a sample that tells no more than where its thread ran.
func (l *Look) sampled() bool {
	s := &l.Seen
	return l.Sampled && l.OnCPU && *s == Seen{Stack: s.Stack, State: sample.Running, Stop: s.Stop}
}

// Thread is the account of one thread. The zero value is that of one that lived before sampling began.
type Thread struct {
	// BornAt is when the thread was first listed, if its birth was seen: then its clocks count from zero.
	// CLOCK_MONOTONIC in nanoseconds, 0 if it was not seen.
	BornAt int64
	// Looks is at how many ticks its stack was seen.
	Looks int64

	clock   Clock
	waiting []Look // first looks, until it is known what they are worth (package skid)
	begun   bool
	claims  []claimed // of the looks that met it on a processor, on what is unseen of its process
	skidded skidded   // what the others of them have a claim on, that do not tell where
	waited  int64     // how many looks met it waiting for a processor
	firstAt int64
	lastAt  int64
}

// Begun reports whether the account has begun, with a look or with [Process.End].
func (t *Thread) Begun() bool { return t.begun }

// LastAt gives the moment of the last look, CLOCK_MONOTONIC in nanoseconds.
func (t *Thread) LastAt() int64 { return t.lastAt }

// Observed gives for how long the thread was looked at, from the first look to the last, in nanoseconds.
func (t *Thread) Observed() int64 { return t.lastAt - t.firstAt }

// Begin begins the account with the clocks of the thread's first look.
func (t *Thread) Begin(r sample.Reading) {
	t.begun, t.firstAt = true, r.Wall
	if t.BornAt != 0 {
		t.clock.Begin(t.birth(r))
	}
}

// birth gives the beginning of a thread whose clocks show r and whose birth was seen. It lived at most since the
// listing before the one that found it; all the time that its clocks show was since then.
func (t *Thread) birth(r sample.Reading) sample.Reading {
	return sample.Reading{Wall: min(t.BornAt, r.Wall-r.CPU-r.RunQueue)}
}

// Add books a look, or keeps it until it is known what the thread's first looks are worth.
func (t *Thread) Add(l *Look, gaps Gaps, emit func(Span)) {
	if n := len(t.waiting); n > 0 {
		if now, manyCalls := decideFirst(n, l.At.Wall-t.waiting[0].At.Wall, l.Basis); now {
			t.bookWaiting(manyCalls, gaps, emit)
		}
	}
	if l.Basis == sample.Undecided || len(t.waiting) > 0 {
		t.waiting = append(t.waiting, *l)
		return
	}
	t.book(l, gaps, emit)
}

// Decide books the looks that have waited, as those of a thread that makes few system calls: nothing else will be
// known in time.
func (t *Thread) Decide(gaps Gaps, emit func(Span)) { t.bookWaiting(false, gaps, emit) }

func (t *Thread) bookWaiting(manyCalls bool, gaps Gaps, emit func(Span)) {
	waiting := t.waiting
	t.waiting = nil
	for i := range waiting {
		l := &waiting[i]
		if l.OnCPU && manyCalls && l.Basis != sample.Exact {
			l.OnCPU, l.Basis = false, sample.Skids
		}
		t.book(l, gaps, emit)
	}
}

// book books the interval that a look ends.
func (t *Thread) book(l *Look, gaps Gaps, emit func(Span)) {
	// Until the last tick at which it was found unchanged the thread was where
	// it was before.
	t.Extend(l.Before, gaps, emit)
	t.Looks++
	t.lastAt = l.At.Wall
	if t.clock.started {
		t.skipGaps(l.At, l.Seen.State, gaps, emit)
	}
	t.meet(l, emit)
}

// skipGaps books what was not observed since the last look.
func (t *Thread) skipGaps(at sample.Reading, s sample.State, gaps Gaps, emit func(Span)) {
	if length := gaps.Within(t.clock.Observed(), at.Wall); length > 0 {
		t.clock.Skip(length, at, s, emit)
	}
}

// Extend books the time up to the last tick at which the thread was unchanged. Precondition: no looks wait.
func (t *Thread) Extend(u sample.Unchanged, gaps Gaps, emit func(Span)) {
	t.Looks += u.Ticks
	if at := u.Last; u.Ticks > 0 && at.Wall != 0 {
		// A look that was pending can end after the tick began at which the thread
		// is then found unchanged.
		at.Wall = max(at.Wall, t.clock.last.Wall)
		if u.Ran {
			t.skipGaps(at, sample.Sleeping, gaps, emit)
			t.clock.SleptAgain(at, u.Ticks, emit)
		} else {
			t.clock.Unchanged(at, u.Ticks)
		}
		t.lastAt = at.Wall
	}
}

// LeftAlone books the time in which a thread was left alone before its next look, because it was in a call that would
// have given up its work.
func (t *Thread) LeftAlone(left *sample.LeftAlone, gaps Gaps, emit func(Span)) {
	if left.InCall.Wall == 0 && left.Other.Wall == 0 {
		return
	}
	t.Decide(gaps, emit)
	if left.InCall.Wall != 0 {
		t.clock.LeftAlone(left.InCall, true, emit)
	}
	if left.Other.Wall != 0 {
		t.clock.LeftAlone(left.Other, false, emit)
	}
}

// Cut books what is open, and goes on: a recording that is written now has it.
func (t *Thread) Cut(gaps Gaps, emit func(Span)) {
	t.Decide(gaps, emit)
	t.release(emit)
	t.clock.Cut(emit)
}

// Open gives what goes on as far as it has come, and books nothing.
func (t *Thread) Open(emit func(Span)) { t.clock.Open(emit) }

// Finish books all that is left.
func (t *Thread) Finish(gaps Gaps, emit func(Span)) {
	t.Decide(gaps, emit)
	t.release(emit)
	t.clock.Finish(emit)
}
