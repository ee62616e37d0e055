package tracer

import (
	"fmt"
	"strings"

	"prywalk/internal/look"
)

// # The samples that an ordinary user may have
//
// Threads are then sampled one by one, and in user space only ([perfevents.OpenOwn]). A thread is followed once a stop
// has met it running. So sleepers need no descriptors, and where there are none left ptrace goes on looking.
//
// What a thread does in the kernel no sample shows. Its time would go to what the thread does beside that, and shares
// would be false. So who is there for more than a twentieth of its processor time is ptrace's again, and so is a
// thread of which samples are missing for any other reason.

const (
	// judgedAfter is after how many periods of a thread's processor time it is seen whether samples tell of all of it.
	judgedAfter = 200
	// missingShare: one sample in so many may be missing.
	missingShare = 20
)

// followed says whether a thread is sampled on its own.
type followed struct {
	events  int   // the descriptors that it takes; 0: it is not
	from    int64 // its processor time as of when heard was 0, ns
	heard   int64 // samples of it
	refused bool  // it is ptrace's for good
}

// followIfItRan has a thread sampled that a stop has just met running.
func (c *Tracer) followIfItRan(th *thread, s *look.Shot) {
	k, f := &c.samples, &th.followed
	if k.reader == nil || !k.reader.Own() || !th.proc.sampled || c.ending || f.events > 0 || f.refused ||
		s.How != look.ByFreeze || s.State != look.Running {
		return
	}
	n := k.reader.Events()
	if !c.files.Take(n) {
		return
	}
	if err := k.reader.Follow(th.look.TID); err != nil {
		c.files.Give(n)
		c.refuse(th, &k.unfollowed)
		return
	}
	*f = followed{events: n, from: int64(s.Sched.CPU)}
	th.look.SetSampled(k.reader.Stack())
}

// refuse leaves a thread to ptrace for good, and counts it.
func (c *Tracer) refuse(th *thread, count *int64) {
	c.unfollow(th)
	th.followed.refused = true
	*count++
}

// unfollow ends what followIfItRan began, if it did.
func (c *Tracer) unfollow(th *thread) {
	if th.followed.events == 0 {
		return
	}
	c.samples.reader.Unfollow(th.look.TID)
	c.files.Give(th.followed.events)
	th.followed = followed{}
	th.look.SetSampled(0)
}

// judgeFollowed sees whether samples tell of all of a thread's time, before a look at it.
func (c *Tracer) judgeFollowed(th *thread) {
	f := &th.followed
	if f.events == 0 {
		return
	}
	cpu := th.sampled.read.CPU
	expected := (cpu - f.from) / c.samples.reader.Period()
	if expected < judgedAfter {
		return
	}
	if (expected-f.heard)*missingShare > expected {
		c.refuse(th, &c.samples.unheard)
		return
	}
	f.from, f.heard = cpu, 0
}

// leftThreads tells of the threads that were ptrace's although their process was not, "" if samples are everybody's.
func (k *kernelSamples) leftThreads() string {
	r := k.reader
	if r == nil {
		r = k.last
	}
	if r == nil || !r.Own() {
		return ""
	}
	parts := []string{"user space only"}
	if k.unheard > 0 {
		parts = append(parts, fmt.Sprintf("by ptrace: %d that ran in the kernel as well", k.unheard))
	}
	if k.unfollowed > 0 {
		parts = append(parts, fmt.Sprintf("by ptrace: %d that may not be sampled", k.unfollowed))
	}
	return strings.Join(parts, "; ")
}
