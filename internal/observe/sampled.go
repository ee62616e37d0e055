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
func (t *Thread) UsesSamples() bool { return t.sampleStack != 0 && !t.isBeyondSamples() }

func (t *Thread) isBeyondSamples() bool {
	hints := t.hints.get()
	return hints.TooDeepForSamples || hints.Used > t.sampleStack
}

// SetRate sets the number of observations per second. Precondition: no walk was made.
func (t *Thread) SetRate(hz float64) {
	t.feedback.sizes.SetRate(hz)
}

// StoppedForDepth reports whether a sampled thread is stopped because its stack is deep.
func (t *Thread) StoppedForDepth() bool { return t.sampleStack != 0 && t.isBeyondSamples() }

// FromSample makes a raw sample from a usable kernel sample, without clocks.
func (o *Observer) FromSample(r *perfevents.Record) *RawSample {
	s := o.pool.Get()
	s.reserveStack((len(r.Stack) + sampleRoom - 1) / sampleRoom * sampleRoom) // few stacks are that deep
	n, asked := copy(s.buf, r.Stack), r.Asked
	if r.Longest {
		s.FullSampleBytes = asked
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

// SetNoUserSpace zeroes the registers, as of a kernel thread.
func (s *RawSample) SetNoUserSpace() { s.Regs = frames.Regs{Arch: hostArch()} }

// IsLongestSample reports whether it is a kernel sample with as much stack as possible.
func (s *RawSample) IsLongestSample() bool { return s.How == BySample && s.FullSampleBytes > 0 }

// Drop returns an unused raw sample to the pool.
func (o *Observer) Drop(s *RawSample) { o.pool.Put(s) }
