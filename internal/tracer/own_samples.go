// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"strings"

	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// # The samples that an ordinary user may have
//
// Threads are then sampled one by one, and in user space only ([perfevents.OpenOwn]). A thread is followed once a stop
// has met it running. So sleepers need no descriptors, and where there are none left ptrace goes on looking.
//
// What a thread does in the kernel no sample shows. Its time would go to what the thread does beside that, and shares
// would be false. So who is there for more than a twentieth of its processor time is ptrace's again. Two counts have
// to say so, of the same time: samples are missing, and the kernel's own account of the thread (stime of
// /proc/PID/task/TID/stat) has as much. Missing samples alone prove nothing. Where the machine is busy, buffers run
// over while prywalk waits for a processor, and timers are late while another system has it. What is lost then is lost
// by chance, and bends no share.

const (
	// judgedAfter is after how many periods of a thread's processor time it is seen whether samples tell of all of it.
	judgedAfter = 200
	// missingShare: one sample in so many may be missing.
	missingShare = 20
	// forgetAfter is after how many judgements without a result one begins anew.
	forgetAfter = 10
	// clockTick is the unit of stime, in nanoseconds. The kernel rounds, so that one of them says nothing.
	clockTick = 10e6
)

// followed says whether a thread is sampled on its own.
type followed struct {
	events  int    // the descriptors that it takes; 0: it is not
	from    int64  // its processor time as of when heard was 0, ns
	kernel  uint64 // its time in the kernel then, clock ticks
	heard   int64  // samples of it
	doubts  int64  // judgements since then: samples are missing, and the kernel's account does not say why
	refused bool   // it is ptrace's for good
}

// suspect reports whether too many samples are missing of so many periods.
func (f *followed) suspect(expected int64) bool { return (expected-f.heard)*missingShare > expected }

// inKernel reports whether the kernel has had more than a share of the processor time since then.
func (f *followed) inKernel(cpu int64, ticks uint64) bool {
	return (int64(ticks-f.kernel)-1)*clockTick*missingShare > cpu-f.from
}

// followIfItRan has a thread sampled that a stop has just met running.
func (c *Tracer) followIfItRan(th *thread, s *look.Shot) {
	k, f := &c.samples, &th.followed
	if k.reader == nil || !k.reader.Own() || !th.proc.sampled || c.ending || f.events > 0 || f.refused || th.noUser ||
		s.How != look.ByFreeze || s.State != sample.Running {
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
	var st procmem.Stat
	_ = th.look.Stat(&st) // it has ended, or has used nothing in the kernel so far
	*f = followed{events: n, from: int64(s.Sched.CPU), kernel: st.STime}
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
	if expected < judgedAfter*(f.doubts+1) {
		return
	}
	var st procmem.Stat
	if th.look.Stat(&st) != nil {
		return // it has ended
	}
	suspect := f.suspect(expected)
	if suspect && f.inKernel(cpu, st.STime) {
		c.refuse(th, &c.samples.unheard)
		return
	}
	if f.doubts++; !suspect || f.doubts == forgetAfter {
		f.from, f.kernel, f.heard, f.doubts = cpu, st.STime, 0, 0
	}
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
