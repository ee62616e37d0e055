// SPDX-License-Identifier: Apache-2.0

package look

import (
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// # Looks under way

// pendingLimit is how long a look may stay pending before it is given up, in
// nanoseconds. A thread that is queued behind many others takes its time; one that
// has not run for this long cannot be looked at.
const pendingLimit = 2e9

// Pending gives the number of looks that are under way, those that were given up and
// whose threads have not stopped yet included.
func (l *Looker) Pending() int { return l.ctl.Pending() }

// Waiting is Pending without those that were given up.
func (l *Looker) Waiting() (n int) {
	for _, t := range l.pending {
		if t != nil {
			n++
		}
	}
	return n
}

// slot keeps a thread by a number that is not zero.
func (l *Looker) slot(t *Thread) uint64 {
	for i, p := range l.pending {
		if p == nil {
			l.pending[i] = t
			return uint64(i) + 1
		}
	}
	l.pending = append(l.pending, t)
	return uint64(len(l.pending))
}

// Collect finishes the looks whose threads stop before the deadline
// (CLOCK_MONOTONIC, ns) and tells done of each: a shot, or an error. It returns when
// none is pending, else at the deadline.
func (l *Looker) Collect(deadline int64, done func(*Thread, *Shot, error)) {
	l.serve(0, false, done)
	l.judgeAll()
	l.serve(deadline, false, done)
	l.giveUp(procmem.Now()-pendingLimit, done)
}

// Serve is Collect for between two calls of Begin, so that no thread stays stopped
// while others are looked at; it gives the number of looks that it finished. It waits
// for one at most until the deadline, and for the others not at all; with the
// deadline 0 for none.
func (l *Looker) Serve(deadline int64, done func(*Thread, *Shot, error)) int {
	return l.serve(deadline, true, done)
}

// serve finishes looks until the deadline, or, without sleeping, the first that it waits for.
func (l *Looker) serve(deadline int64, one bool, done func(*Thread, *Shot, error)) (n int) {
	wait := l.ctl.WaitAny
	if one {
		wait = l.ctl.SpinAny
	}
	for look := wait(deadline); look != nil; look = wait(deadline) {
		if one {
			deadline = 0
		}
		t := l.byTag(look.Tag)
		if t == nil {
			l.ctl.Cancel(look)
			continue
		}
		s, err := l.finish(t, look)
		if err == nil && t.missed(len(s.Mem.Stack.Bytes)) {
			if err = l.freeze(t, s, true); err == nil {
				continue
			}
		}
		if err != nil {
			l.pool.Put(s)
			s = nil
		}
		done(t, s, err)
		n++
	}
	return n
}

// missed reports whether nothing of the stack was copied because the process has begun another program, when n bytes
// were. The memory that was open was that of the old one. It is open anew then.
func (t *Thread) missed(n int) bool { return n == 0 && t.Memory != nil && t.Memory.Renew(t.TID) }

// byTag gives the thread that a tag stands for, and frees the tag.
func (l *Looker) byTag(tag uint64) *Thread {
	if tag == 0 || tag > uint64(len(l.pending)) {
		return nil
	}
	t := l.pending[tag-1]
	l.pending[tag-1] = nil
	return t
}

// giveUp ends the looks that were begun before a moment.
func (l *Looker) giveUp(before int64, done func(*Thread, *Shot, error)) {
	for i, t := range l.pending {
		if t == nil || t.begun > before {
			continue
		}
		l.pending[i] = nil
		l.pool.Put(t.pending)
		t.pending = nil
		l.ctl.Cancel(t.freezing)
		done(t, nil, ptrace.ErrTimeout)
	}
}

// GiveUp ends a pending look at a thread; false if there is none. Its done is not called.
func (l *Looker) GiveUp(t *Thread) bool {
	for i, p := range l.pending {
		if p != t {
			continue
		}
		l.pending[i] = nil
		l.pool.Put(t.pending)
		t.pending = nil
		l.ctl.Cancel(t.freezing)
		return true
	}
	return false
}

// Queued reports whether a pending look is at a thread that waits for the processor
// which this thread runs on: it does not stop before this thread sleeps.
func (t *Thread) Queued() bool { return t.pending != nil && t.queued }

// leaveFor is how long the looks under way may take when this process is about to be stopped, in nanoseconds. A
// thread that is queued behind many others takes some tens of milliseconds. What does not stop by then is let go of
// by the end of the controller's OS thread.
const (
	leaveFor  = 500e6
	leaveStep = 5e6
)

// Leave finishes the looks under way, and gives up those whose threads do not stop soon, because this process
// is about to be stopped ([ptrace.Leaving]). The controller is to be closed then.
func (l *Looker) Leave(done func(*Thread, *Shot, error)) {
	l.ctl.Leave()
	l.serve(0, false, done)
	l.judgeAll()
	for end := procmem.Now() + leaveFor; l.Waiting() > 0 && procmem.Now() < end; {
		l.serve(procmem.Now()+leaveStep, false, done)
	}
	l.Abort(done)
}

// Abort gives up all pending looks, at the end of sampling.
func (l *Looker) Abort(done func(*Thread, *Shot, error)) {
	l.giveUp(procmem.Now()+pendingLimit, done)
}
