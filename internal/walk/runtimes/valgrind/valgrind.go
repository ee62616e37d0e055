// SPDX-License-Identifier: Apache-2.0

// Package valgrind finds the stack of a program that Valgrind runs: as translations, on a stack of Valgrind's.
//
//	a translation: rbp ─►                     guest state: address in the tool's code (0), rax to r15 (16 …), rip (184)
//	Valgrind's functions: word on the stack ─► guest state, or ThreadState, which has it at 16
//
// The walk goes on there ([frames.LeftStack]), by the tables of the program's files. Translations keep rsp, rbp and rip
// each by itself, and only where the program reads or writes memory: rip may be of an instruction that was carried out.
// So a call's effect and the rules of the next instructions are tried, too; only one may lead behind a possible call.
//
// Sources, 3.19: VEX/pub/libvex_guest_amd64.h, VEX/priv/guest_amd64_toIR.c, pub_core_threadstate.h.
package valgrind

import (
	"path"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/walk/managed"
)

const (
	guestRSP, guestRBP, guestRIP  = 48, 56, 184 // offsets in VexGuestAMD64State, in bytes
	stateInThread, stateAlignment = 16, 16      // in ThreadState, in bytes

	maxWords = 512 // of Valgrind's stack
	maxAhead = 32  // bytes of instructions
	maxCall  = 8   // bytes of a call
)

// Runtime is one of Valgrind's tools, with a program. It has no frames of its own, and hides the translations'.
type Runtime struct {
	managed.NoRefs
	host  managed.Host
	tool  *frames.Module
	space *frames.Space // for trials
	trial frames.Walker
}

// Detect implements [managed.Detector].
func Detect(h managed.Host) (managed.Runtime, error) {
	for _, m := range h.Modules() {
		isTool := !m.Generated && strings.HasSuffix(m.Name, "-linux") && languages.ValgrindTool.MatchString(path.Base(m.Name))
		if h.Arch() == frames.X86_64 && isTool {
			return &Runtime{tool: m, space: frames.NewSpace(frames.X86_64)}, nil
		}
	}
	return nil, nil
}

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "Valgrind" }

// Attach implements [managed.Runtime]. The tool's code without tables is the dispatcher, which is part of translations.
func (r *Runtime) Attach(h managed.Host) bool {
	m := managed.ModuleAgain(h, r.tool)
	if m == nil {
		return false
	}
	r.host, r.tool, m.NoFP = h, m, true
	for _, m := range managed.Unowned(h) {
		m.Owner, m.NoFP, m.Sources = r, true, nil
	}
	r.space.SetModules(h.Modules())
	return true
}

// ManagedFrames implements [managed.FrameSource].
func (r *Runtime) ManagedFrames(f *frames.Frame, _ frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	return out, f.Module != nil && f.Module.Owner == r
}

// FindLeft implements [frames.LeftStack].
func (r *Runtime) FindLeft(regs *frames.Regs, mem frames.Memory, stop frames.StopReason) (frames.LeftFrame, bool) {
	m := r.space.ModuleAt(regs.PC)
	if m == nil || m != r.tool && m.Owner != r {
		return frames.LeftFrame{}, false
	}
	if stop != frames.StopRoot {
		return r.programAt(regs.Val[frames.X86RBP], mem)
	}
	for at := regs.SP() - 8; at != regs.SP()-8*maxWords; at -= 8 { // from the outermost frame on inwards
		w, ok := mem.Word(at)
		for _, state := range []frames.Addr{w, w + stateInThread} {
			if ok && r.isState(state) {
				return r.programAt(state, mem)
			}
		}
	}
	return frames.LeftFrame{}, false
}

// isState reads the process, as the first word of a state never changes.
func (r *Runtime) isState(at frames.Addr) bool {
	if at%stateAlignment != 0 || at <= stateInThread {
		return false
	}
	w, ok := managed.ReadWord(r.host, at)
	return ok && w >= r.tool.Start && w < r.tool.End
}

// programAt returns the program's innermost frame.
func (r *Runtime) programAt(state frames.Addr, mem frames.Memory) (f frames.LeftFrame, found bool) {
	if !r.isState(state) {
		return f, false
	}
	read := func(at frames.Addr) uint64 {
		v, ok := mem.Word(at)
		if !ok && f.Unread == 0 {
			f.Unread = at
		}
		return v
	}
	f.PC, f.SP, f.FP = read(state+guestRIP), read(state+guestRSP), read(state+guestRBP)
	m := r.space.ModuleAt(f.PC)
	if f.Unread != 0 || m == nil || m == r.tool {
		return f, false
	}
	f.Method, f.Interrupted, f.SavedSP = frames.MethodHeuristic, true, state+guestRSP
	read(f.SP)
	return f, f.Unread == 0 && r.prove(&f, mem)
}

// prove moves f to the only proven place. Its registers may not be of one instruction.
func (r *Runtime) prove(f *frames.LeftFrame, mem frames.Memory) bool {
	pc, sp := f.PC, f.SP
	top, _ := mem.Word(sp)
	if f.SP += 8; top > pc && top <= pc+maxCall && r.callerSP(f, mem) != 0 { // the call was carried out
		return true
	}
	f.SP = sp
	only, at := frames.Addr(0), pc
	for ; f.PC <= pc+maxAhead && r.space.InOneFunction(pc, f.PC); f.PC++ {
		if found := r.callerSP(f, mem); only == 0 {
			only, at = found, f.PC
		} else if found != 0 && found != only {
			return false
		}
	}
	f.PC = at
	return only != 0
}

// callerSP returns the stack pointer of f's caller if that follows a call of f's function, else 0.
func (r *Runtime) callerSP(f *frames.LeftFrame, mem frames.Memory) frames.Addr {
	regs := frames.Regs{Arch: frames.X86_64, PC: f.PC}
	regs.Set(frames.X86RSP, f.SP)
	regs.Set(frames.X86RBP, f.FP)
	t := &r.trial
	t.Init(r.space, &regs, mem)
	found := t.Next()
	found = found && t.Next()
	caller := t.Frame()
	if !found || t.FoundRegs() > 0 || caller.Method == frames.MethodScan ||
		caller.AfterCall && !r.space.MayHaveCalled(caller.PC, f.PC) {
		return 0
	}
	return caller.SP
}
