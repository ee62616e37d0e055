// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"fmt"
	"strings"

	"prywalk/internal/observe"
	"prywalk/internal/procmem"
)

// ownSamples samples threads one by one, in user space only ([perfevents.OpenOwn]), once a stop has found them running.
//
// Time in the kernel has no samples. So a thread that is there for more than a twentieth of its CPU time is stopped
// again. Both missing samples and stime (/proc/PID/task/TID/stat) must show it: samples may be lost by chance.
type ownSamples struct {
	*Engine
	// Stopped threads: in the kernel; refused.
	inKernel, unfollowed int64
}

const (
	// judgedAfter is the CPU time, in periods, after which samples are compared with it.
	judgedAfter = 200
	// missingShare: one sample in so many may be missing.
	missingShare = 20
	// forgetAfter is after how many judgements without a result the counts restart.
	forgetAfter = 10
	// clockTick is the unit of stime, ns.
	clockTick = 10e6
)

type followed struct {
	events   int // its descriptors; 0: not followed
	from     int64
	kernel   uint64 // kernel time then, clock ticks
	received int64
	doubts   int64 // judgements without a reason for missing samples
	refused  bool
	stale    bool // the rate has changed since the counts began
}

func (f *followed) lacksSamples(expected int64) bool {
	return (expected-f.received)*missingShare > expected
}

func (f *followed) inKernel(cpu int64, ticks uint64) bool {
	return (int64(ticks-f.kernel)-1)*clockTick*missingShare > cpu-f.from
}

func (o *ownSamples) follow(th *thread, s *observe.RawSample) {
	r, f := o.reader, &th.followed
	if r == nil || !r.Own() || !th.proc.on || o.Ending || f.events > 0 || f.refused || th.NoUser {
		return
	}
	n := r.Events()
	if !o.Files.Take(n) {
		return
	}
	if err := r.Follow(th.Observed.TID); err != nil {
		o.Files.Give(n)
		o.refuse(th, &o.unfollowed)
		return
	}
	var st procmem.Stat
	_ = th.Observed.Stat(&st) // ended, or no time in the kernel
	*f = followed{events: n, from: int64(s.Sched.CPU), kernel: st.STime}
	th.Observed.SetSampled(r.Stack())
}

func (o *ownSamples) refuse(th *thread, count *int64) {
	o.unfollow(th)
	th.followed.refused = true
	*count++
}

func (o *ownSamples) unfollow(th *thread) {
	f := &th.followed
	if f.events == 0 {
		return
	}
	o.reader.Unfollow(th.Observed.TID)
	o.Files.Give(f.events)
	*f = followed{}
	th.Observed.SetSampled(0)
}

func (o *ownSamples) judge(th *thread) {
	f := &th.followed
	if f.events == 0 {
		return
	}
	cpu := th.read.CPU
	expected := (cpu - f.from) / o.reader.Period()
	if expected < judgedAfter*(f.doubts+1) && !f.stale {
		return
	}
	var st procmem.Stat
	if th.Observed.Stat(&st) != nil {
		return
	}
	if f.stale {
		f.from, f.kernel, f.received, f.doubts, f.stale = cpu, st.STime, 0, 0, false
		return
	}
	lacks := f.lacksSamples(expected)
	if lacks && f.inKernel(cpu, st.STime) {
		o.refuse(th, &o.inKernel)
		return
	}
	if f.doubts++; !lacks || f.doubts == forgetAfter {
		f.from, f.kernel, f.received, f.doubts = cpu, st.STime, 0, 0
	}
}

// note gives "" if threads are not sampled one by one.
func (o *ownSamples) note() string {
	r := o.reader
	if r == nil {
		r = o.choice.last
	}
	if r == nil || !r.Own() {
		return ""
	}
	parts := []string{"user space only"}
	if o.inKernel > 0 {
		parts = append(parts, fmt.Sprintf("by ptrace: %d that ran in the kernel as well", o.inKernel))
	}
	if o.unfollowed > 0 {
		parts = append(parts, fmt.Sprintf("by ptrace: %d that may not be sampled", o.unfollowed))
	}
	return strings.Join(parts, "; ")
}
