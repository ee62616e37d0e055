// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// # Registers kept from a stop
//
// If a walk of a passive read lacks a register (package frames, Walker.FoundRegs), the thread is stopped once in its
// sleep, unless that harms its call ([Interruptible]). The registers then hold for passive reads in the same call, with
// the same stack up to the outermost frame, of which the first 16 KiB are compared. The place stays known for the whole
// recording: each further sleep there is stopped once, unless the registers of an earlier one hold.

const maxKept = 16 << 10 // bytes

type keptRegs struct {
	call  procmem.SyscallInfo
	regs  frames.Regs
	stack []byte // from the stack pointer up
	runs  uint64
	// awaitsRoot means that the last read's stack differed, perhaps only beyond the outermost frame.
	awaitsRoot bool
}

func (k *keptRegs) keep(s *RawSample) {
	k.call = s.Call
	k.regs = s.Regs
	k.runs = s.Sched.Runs
	b := s.bytesFrom(s.Call.SP)
	k.stack = append(k.stack[:0], b[:min(len(b), maxKept)]...)
}

// recall needs the same call and the same stack up to root, the outermost frame's stack pointer, or 0. It sets call to
// the one before restart_syscall(2).
func (k *keptRegs) recall(s *RawSample, call *procmem.SyscallInfo, root frames.Addr) bool {
	if len(k.stack) == 0 || !k.isSameCall(call) {
		return false
	}
	*call = k.call
	n := len(k.stack)
	if depth := root - call.SP; depth < uint64(n) {
		n = int(depth)
	}
	if b := s.bytesFrom(call.SP); len(b) < n || !bytes.Equal(b[:n], k.stack[:n]) {
		return false
	}
	s.Regs = k.regs
	return true
}

// recallOrAwaitRoot is recall. If the stack differs, a walk that finds another root has the thread read again.
func (k *keptRegs) recallOrAwaitRoot(s *RawSample, call *procmem.SyscallInfo, root frames.Addr) bool {
	recalled := k.recall(s, call, root)
	k.awaitsRoot = !recalled && len(k.stack) > 0 && k.isSameCall(call)
	return recalled
}

func (k *keptRegs) isSameCall(call *procmem.SyscallInfo) bool {
	return call.SP == k.call.SP && call.PC == k.call.PC && call.Args == k.call.Args &&
		(call.Nr == k.call.Nr || isRestart(call.Nr))
}

// isSameSleep reports whether the thread is probably still in the sleep in which it was stopped.
func (k *keptRegs) isSameSleep(call *procmem.SyscallInfo, runs uint64) bool {
	return len(k.stack) > 0 && k.isSameCall(call) && (runs == k.runs+1 || isRestart(call.Nr))
}

func (s *RawSample) bytesFrom(addr frames.Addr) []byte {
	st := &s.Mem.Stack
	if addr < st.Addr || addr-st.Addr > uint64(len(st.Bytes)) {
		return nil
	}
	return st.Bytes[addr-st.Addr:]
}

// restoreSleeper makes s, of a stop for a register, a sleeper's, unless the thread has left the call.
func (e *sleepEvidence) restoreSleeper(s *RawSample, call *procmem.SyscallInfo, stop *ptrace.Stop) {
	// after a restart, PC is that of the system call instruction
	if stop.Kind != ptrace.KindInterrupt || s.Regs.SP() != call.SP || call.PC-s.Regs.PC > 4 {
		return
	}
	s.Regs.PC = call.PC
	s.State = sample.Sleeping
	s.Call = *call
	s.OnCPU, s.Skids = false, false
	s.KernelStack.wchan = s.KernelStack.wchan[:0]
	e.kept.keep(s)
	// The thread runs once more to re-enter its call.
	e.base.state = sample.Sleeping
}

// missingRegisterSites is a hash table of [siteKey]s. A collision replaces the older one.
type missingRegisterSites [1024]uint64

// On x86-64 a missing register depends on the callers.
func siteKey(tid int, s *RawSample) uint64 {
	if s.Regs.Arch == frames.ARM64 {
		return s.Regs.PC
	}
	return (s.Regs.PC*0x9e3779b97f4a7c15 ^ s.Regs.SP()*0xc2b2ae3d27d4eb4f ^ uint64(tid)*0x165667b19e3779f9) | 1
}

func (sites *missingRegisterSites) slot(key uint64) *uint64 {
	return &sites[key*0x9e3779b97f4a7c15>>54%uint64(len(sites))]
}

func (feedback *WalkFeedback) recordMissingRegister(s *RawSample) {
	if s.How != ByPassiveRead || !Interruptible(feedback.id, &s.Call, &s.Mem) {
		return
	}
	feedback.reads.MissingRegisterSite = siteKey(feedback.id.TID, s)
	feedback.readAgainIf(!s.registers.stopRefused)
}
