// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// How says how a thread was observed.
type How uint8

// Ways of observing.
const (
	_ How = iota
	ByStop
	ByPassiveRead
	ByKernelSample // of a running thread, by the kernel
	FromCore
)

// String returns the name in JSON.
func (h How) String() string {
	switch h {
	case ByStop:
		return "stop"
	case ByPassiveRead:
		return "passive"
	case ByKernelSample:
		return "kernel-sample"
	case FromCore:
		return "core"
	}
	return "none"
}

// RawSample is one sample of one thread that is not walked yet.
type RawSample struct {
	Regs  frames.Regs
	Mem   frames.Snapshot
	Sched procmem.SchedStat
	At    ptrace.Moment
	How   How
	State sample.State
	// Call is of a sleeper; Nr −1 means none.
	Call procmem.SyscallInfo
	// OnCPU means that the thread was on a CPU at the tick, and its stack gets the CPU time; Skids that it was on a CPU,
	// but the stack may be of a later place, and its CPU time waits for an exact sample. With neither it was queued or
	// asleep.
	OnCPU, Skids bool
	NotStopped   sample.NotStopped
	StandsFor    time.Duration // CPU time that a kernel sample stands for
	Stayed       bool          // a stop of a thread that was on a CPU from before the interrupt on
	AtCallEnd    bool          // a stop at the end of a system call; x86-64 only
	// KernelTime is CPU time in the kernel since the thread's last raw sample, and CallTime the part of such time that
	// this stop's system call takes at most: of threads that the kernel samples in user space only.
	KernelTime, CallTime int64
	RanOn                time.Duration // from the interrupt to the stop
	Stop                 StopRecord
	Cost                 StopCost
	KernelStack          KernelStack
	Limits               copyLimits
	registers            knownRegs
	futexCopy            futexCopy

	buffers sampleBuffers
}

// StopCost is the cost of a stop's reads.
type StopCost struct {
	CopyTime time.Duration
	Calls    int
}

// CallEffect is a stop's effect on the system call.
type CallEffect struct {
	Repair ptrace.Repair
	Call   int64 // the call's number, negative if unknown
}

// KernelStack is the thread's place in the kernel, if known.
type KernelStack struct {
	Frames []uint64 // above the system call or interrupt, innermost first
	Text   []byte   // of a sleeper, for [procmem.NextKernelFrame]

	wchan    []byte // kernel function in which it waits
	wchanBuf [64]byte
}

type knownRegs struct {
	recalled           bool // the registers are of an earlier stop
	stopRefused        bool // no stop was allowed for registers that may be missing
	stoppedForRegister bool
}

func (s *RawSample) reset() {
	*s = RawSample{
		Mem:         frames.Snapshot{Others: s.Mem.Others[:0]},
		Call:        procmem.SyscallInfo{Nr: -1},
		Stop:        StopRecord{Effect: CallEffect{Call: -1}},
		KernelStack: KernelStack{Frames: s.KernelStack.Frames[:0], Text: s.KernelStack.Text[:0]},
		buffers:     s.buffers,
	}
}

// Recalled reports whether a passive read has the registers of an earlier stop.
func (s *RawSample) Recalled() bool { return s.registers.recalled }

const maxRegions = 8 + maxOtherStacks + maxPlanRegions

func (s *RawSample) keepOthers(rs []frames.Region) {
	n := 0
	for i := range rs {
		n += len(rs[i].Bytes)
	}
	s.buffers.reserveOthers(n)
	kept := s.buffers.others[:0]
	for i := range rs {
		from := len(kept)
		kept = append(kept, rs[i].Bytes...)
		s.Mem.Others = append(s.Mem.Others, frames.Region{Addr: rs[i].Addr, Bytes: kept[from:]})
	}
	s.buffers.others = kept
}

// KernelOnly reports whether the thread never runs in user space: its registers are zero.
func (s *RawSample) KernelOnly() bool { return s.Regs.PC == 0 && s.Regs.SP() == 0 }

// WaitReason returns the system call that a thread waits in, "stopped", or the kernel's reason; "" if running or
// unknown. restart_syscall(2) has the name of the interrupted call.
func (s *RawSample) WaitReason() string {
	switch s.State {
	case sample.Running:
		return ""
	case sample.Stopped:
		return "stopped"
	}
	if isRestart(s.Call.Nr) {
		if name := process.ResumedCall(s.Call.Args[0], s.KernelStack.wchan); name != "" {
			return name
		}
	}
	return process.WaitLabel(s.Regs.Arch, s.Call.Nr, s.KernelStack.wchan)
}

// Copied returns the bytes of all copied stacks.
func (s *RawSample) Copied() int64 {
	n := len(s.Mem.Stack.Bytes)
	for i := range s.Mem.Others {
		n += len(s.Mem.Others[i].Bytes)
	}
	return int64(n)
}
