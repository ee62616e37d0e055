// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// # Threads that the kernel samples
//
// A running thread is stopped, or sampled by the kernel (package perfevents). Observations without a stop go on, for
// sleeps, clocks and end. While its stack is deeper than the kernel copies, it is stopped.

// sampleRoom is the unit of a sample's buffer, in bytes.
const sampleRoom = 4 << 10

const mostKernel = 64

// SetSampled sets how many bytes of stack the kernel samples; 0: none. A sampled thread is not stopped where it runs.
func (t *Thread) SetSampled(stack int) { t.sampled = stack }

// Sampled reports whether samples of the thread are used.
func (t *Thread) Sampled() bool { return t.sampled != 0 && !t.deep() }

// deep reports whether the stack is or lately was deeper than the kernel copies.
func (t *Thread) deep() bool {
	n := t.needs.get()
	return n.Deep || n.Used > t.sampled
}

// A thread whose sample was cut is stopped until half a second of stops found its stack shallow, twice as long each
// time.
const (
	deepSeconds = 0.5
	deepLeast   = 16
	deepMost    = 1 << 16
)

// SetRate sets the observations per second. Precondition: no walk was made.
func (t *Thread) SetRate(hz float64) { t.walks.shallowFirst = max(int(hz*deepSeconds), deepLeast) }

func (k *Walks) deepAgain(copied int) {
	if !k.needs.Deep { // only the first counts
		k.deepFor = min(max(2*k.deepFor, k.shallowFirst, deepLeast), deepMost)
	}
	k.needs.Deep, k.deepLeft, k.deepOver = true, k.deepFor, copied
}

// pagesLack notes a sample that ended at an absent page: the kernel's copy does not wait (arch/x86/lib/usercopy.c,
// copy_from_user_nmi). A stop makes the page present: one is enough, twice as many each time.
func (k *Walks) pagesLack(asked int) {
	if !k.needs.Deep {
		k.untouched = min(max(2*k.untouched, 1), max(k.shallowFirst, deepLeast))
		k.deepLeft = k.untouched
	}
	k.needs.Deep, k.deepOver = true, asked
}

func (k *Walks) stoppedDeep(used int) {
	switch {
	case k.deepLeft == 0:
	case used > k.deepOver:
		k.deepLeft = k.deepFor
	default:
		k.deepLeft--
		k.needs.Deep = k.deepLeft > 0
	}
}

// Deep reports whether a sampled thread is stopped for its deep stack.
func (t *Thread) Deep() bool { return t.sampled != 0 && t.deep() }

// FromSample makes a raw sample of a usable kernel sample. The caller sets the clocks.
func (l *Observer) FromSample(r *perfevents.Record) *RawSample {
	s := l.pool.Get()
	s.room((len(r.Stack) + sampleRoom - 1) / sampleRoom * sampleRoom) // few stacks are that deep
	n, asked := copy(s.buf, r.Stack), r.Asked
	if s.asked = 0; r.Longest {
		s.asked = asked
	}
	s.Regs, s.At, s.How, s.State = r.Regs, r.Time, BySample, sample.Running
	s.setStack(r.Regs.SP(), n, asked)
	s.Call, s.wchan, s.Left = procmem.SyscallInfo{Nr: -1}, s.wchan[:0], sample.NotStopped{}
	s.OnCPU, s.Basis, s.Stopped, s.Why = true, sample.Exact, 0, 0
	s.Restarted, s.Broken, s.Told, s.BrokenCall = false, false, false, -1
	s.recalled, s.refused, s.short, s.pieced, s.by = false, false, false, false, nil
	s.Kernel, s.KernelText = s.Kernel[:0], s.KernelText[:0]
	s.deep, s.toTop, s.tailAt = false, false, 0
	s.chain.follow(r)
	for i := range min(r.Kernel(), mostKernel) {
		s.Kernel = append(s.Kernel, r.KernelFrame(i))
	}
	return s
}

// NoUserSpace zeroes the registers, for a thread that never runs in user space.
func (s *RawSample) NoUserSpace() { s.Regs = frames.Regs{Arch: hostArch()} }

// Longest reports whether a kernel sample has as much stack as possible.
func (s *RawSample) Longest() bool { return s.How == BySample && s.asked > 0 }

// Drop returns an unused raw sample to the pool.
func (l *Observer) Drop(s *RawSample) { l.pool.Put(s) }
