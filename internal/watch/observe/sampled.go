// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/perfevents"
	"prywalk/ptrace"
)

// # Threads that the kernel samples
//
// Such a thread is observed without stops, for sleeps, clocks and its end, unless its stack is too deep for samples
// ([depthLearner]).

const sampleRoom = 4 << 10 // bytes; a sample's buffer is a multiple

const maxKernel = 64 // kernel frames of a sample

// SetKernelSampleStack sets the bytes of stack in the kernel's samples of the thread; 0 means none.
func (t *Thread) SetKernelSampleStack(bytes int) { t.kernelSampleStackBytes = bytes }

// IsKernelSampled reports whether the kernel's samples replace stops of the thread.
func (t *Thread) IsKernelSampled() bool {
	return t.kernelSampleStackBytes != 0 && !t.stackExceedsSamples()
}

// StopThough has the next observation stop the thread, if it runs, though the kernel samples it.
func (t *Thread) StopThough(stop bool) { t.stopThoughSampled = stop }

// StopsThoughSampled returns the argument of the last [Thread.StopThough].
func (t *Thread) StopsThoughSampled() bool { return t.stopThoughSampled }

// IsTooDeepForKernelSamples reports whether a thread is stopped though the kernel samples it.
func (t *Thread) IsTooDeepForKernelSamples() bool {
	return t.kernelSampleStackBytes != 0 && t.stackExceedsSamples()
}

func (t *Thread) stackExceedsSamples() bool {
	hints := t.hints
	return hints.stack.tooDeepForSamples || hints.stack.size.used > t.kernelSampleStackBytes
}

// FromKernelSample makes a raw sample, without clocks, from a usable kernel sample.
func (o *Observer) FromKernelSample(r *perfevents.Record) *RawSample {
	s := o.pool.Get()
	s.buffers.reserveStack((len(r.Stack) + sampleRoom - 1) / sampleRoom * sampleRoom) // few stacks are that deep
	n, asked := copy(s.buffers.stack, r.Stack), r.Asked
	s.Limits.fullSampleBytes = asked
	s.Regs = r.Regs
	s.At = r.Time
	s.How = ByKernelSample
	s.State = sample.Running
	s.setStack(r.Regs.SP(), n, asked)
	s.OnCPU, s.Skids = true, false
	for i := range min(r.Kernel(), maxKernel) {
		s.KernelStack.Frames = append(s.KernelStack.Frames, r.KernelFrame(i))
	}
	return s
}

// SetNoUserSpace zeroes the registers, as of a kernel thread.
func (s *RawSample) SetNoUserSpace() { s.Regs = frames.Regs{Arch: process.HostArch()} }

// setRunningInKernel makes s a sample, without a stop, of a thread without user space that runs.
func (s *RawSample) setRunningInKernel(sched procmem.SchedStat) {
	s.SetNoUserSpace()
	s.setStack(0, 0, 0)
	s.Limits, s.KernelStack.Text = copyLimits{}, s.KernelStack.Text[:0]
	s.Sched, s.At, s.How, s.State = sched, ptrace.Now(), ByPassiveRead, sample.Running
	s.Call = procmem.SyscallInfo{Nr: -1}
	s.OnCPU, s.Skids = true, false
}
