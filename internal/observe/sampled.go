// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/perfevents"
	"prywalk/internal/sample"
)

// # Threads that the kernel samples
//
// A thread that the kernel samples (package perfevents) is stopped only if its stack is too deep for that. It is still
// observed without stops, for sleeps, clocks and its end.

const sampleRoom = 4 << 10 // bytes; a sample's buffer is a multiple

const maxKernel = 64 // kernel frames of a sample

// SetSampleStack sets the bytes of stack in the kernel's samples of the thread; 0: it is not sampled. A sampled thread
// is not stopped while it runs.
func (t *Thread) SetSampleStack(stack int) { t.sampleStack = stack }

// UsesSamples reports whether samples of the thread are used.
func (t *Thread) UsesSamples() bool { return t.sampleStack != 0 && !t.beyondSamples() }

func (t *Thread) beyondSamples() bool {
	hints := t.hints.get()
	return hints.BeyondSamples || hints.Used > t.sampleStack
}

// After a cut sample the thread is stopped until the stops of 0.5 s have found its stack shallow; the time doubles with
// each cut sample.
const (
	deepSeconds  = 0.5
	minDeepStops = 16
	maxDeepStops = 1 << 16
)

// SetRate sets the number of observations per second. Precondition: no walk was made.
func (t *Thread) SetRate(hz float64) {
	t.feedback.samples.shallowFirst = max(int(hz*deepSeconds), minDeepStops)
}

type sampleHints struct {
	// The thread must be stopped, as a sample had too little of its stack.
	BeyondSamples bool
}

type depthLearner struct {
	*sampleHints
	shallowFor   int // shallow stops required after a cut sample
	shallowLeft  int // of these, still required
	deeperThan   int // bytes of a stack that is not shallow
	pageStops    int // as shallowFor, after a sample that ended at an absent page
	shallowFirst int // least shallowFor
}

func (learner *depthLearner) update(end walkEnd, w *frames.Walker, s *RawSample) {
	switch {
	case s.How == ByStop:
		learner.learnStop(depth(w, s))
	case end == endCut:
		learner.learnCutSample(s)
	}
}

// learnCutSample ignores a sample if a longer one is possible.
func (learner *depthLearner) learnCutSample(s *RawSample) {
	switch {
	case !s.Longest():
	case s.isFullSample():
		learner.stopForDepth(s.fullSampleBytes)
	default:
		learner.stopForPages(s.fullSampleBytes)
	}
}

// depth returns the bytes of stack that a walk used, 0 if unknown.
func depth(w *frames.Walker, s *RawSample) int {
	from, reach := s.Mem.Stack.Addr, w.HighestSP()
	if w.OnOtherStack() || reach < from || reach > s.Mem.StackEnd {
		return 0
	}
	return int(reach - from)
}

// stopForDepth requires stops until enough in a row have found at most stackBytes of stack.
func (learner *depthLearner) stopForDepth(stackBytes int) {
	if !learner.BeyondSamples { // later samples were taken before the first stop
		learner.shallowFor = min(max(2*learner.shallowFor, learner.shallowFirst, minDeepStops), maxDeepStops)
	}
	learner.BeyondSamples = true
	learner.shallowLeft = learner.shallowFor
	learner.deeperThan = stackBytes
}

// stopForPages requires stops, one at first, twice as many each time, to read the pages that a sample found absent: the
// kernel does not wait for them (arch/x86/lib/usercopy.c, copy_from_user_nmi).
func (learner *depthLearner) stopForPages(asked int) {
	if !learner.BeyondSamples {
		learner.pageStops = min(max(2*learner.pageStops, 1), max(learner.shallowFirst, minDeepStops))
		learner.shallowLeft = learner.pageStops
	}
	learner.BeyondSamples, learner.deeperThan = true, asked
}

func (learner *depthLearner) learnStop(used int) {
	switch {
	case learner.shallowLeft == 0:
	case used > learner.deeperThan:
		learner.shallowLeft = learner.shallowFor
	default:
		learner.shallowLeft--
		learner.BeyondSamples = learner.shallowLeft > 0
	}
}

// StoppedForDepth reports whether a sampled thread is stopped because its stack is deep.
func (t *Thread) StoppedForDepth() bool { return t.sampleStack != 0 && t.beyondSamples() }

// FromSample makes a raw sample from a usable kernel sample, without clocks.
func (o *Observer) FromSample(r *perfevents.Record) *RawSample {
	s := o.pool.Get()
	s.reserveStack((len(r.Stack) + sampleRoom - 1) / sampleRoom * sampleRoom) // few stacks are that deep
	n, asked := copy(s.buf, r.Stack), r.Asked
	if r.Longest {
		s.fullSampleBytes = asked
	}
	s.Regs = r.Regs
	s.At = r.Time
	s.How = BySample
	s.State = sample.Running
	s.setStack(r.Regs.SP(), n, asked)
	s.OnCPU, s.Basis = true, sample.Exact
	s.chain.follow(r)
	for i := range min(r.Kernel(), maxKernel) {
		s.Kernel = append(s.Kernel, r.KernelFrame(i))
	}
	return s
}

// NoUserSpace zeroes the registers, as of a kernel thread.
func (s *RawSample) NoUserSpace() { s.Regs = frames.Regs{Arch: hostArch()} }

// Longest reports whether it is a kernel sample with as much stack as possible.
func (s *RawSample) Longest() bool { return s.How == BySample && s.fullSampleBytes > 0 }

// isFullSample is Longest, and no page was absent.
func (s *RawSample) isFullSample() bool {
	return s.Longest() && len(s.Mem.Stack.Bytes) >= s.fullSampleBytes
}

// Drop returns an unused raw sample to the pool.
func (o *Observer) Drop(s *RawSample) { o.pool.Put(s) }
