// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/runtimes/hotspot/aarch64"
)

// Options are the inputs of a [VM].
type Options struct {
	Arch frames.Arch
	// Symbol gives the run-time address of a symbol of libjvm.so; false if none.
	Symbol func(name string) (uint64, bool)
	Read   func(addr uint64, b []byte) int
	// ReadParts is [managed.Gatherer]'s, or nil.
	ReadParts func([]frames.Region) int
	// ReadCode is Read of instructions; changes to them are detected.
	ReadCode func(addr uint64, b []byte) int
	// Analysis follows instructions; nil: most pushes in compiled code go undetected.
	Analysis Analysis
}

// Analysis follows instructions, as [prywalk/heuristics.Source] does.
type Analysis interface {
	// ReturnCFA gives the CFA at pc by the path to a return within [lo, hi).
	ReturnCFA(pc, lo, hi uint64) (heuristics.CFA, bool)
	// ReturnAddress gives the place of the return address at pc in frameless code within [lo, hi), by the path from its
	// entry.
	ReturnAddress(pc, lo, hi uint64) (heuristics.ReturnPlace, bool)
	// KeepsSP reports whether sp is constant from pc to the next jump.
	KeepsSP(pc uint64) bool
}

// VM is the virtual machine of a process, a [frames.RuleSource] for run-time addresses, for one goroutine at a time.
type VM struct {
	*codeCache
	names       *Names
	version     string
	a64         *aarch64.Rules // nil on x86-64
	senderTries int
}

// UnknownError is why a virtual machine's code is not read.
type UnknownError struct {
	Reason string
	// NotYet reports that the file is still being loaded.
	NotYet bool
}

// Error implements error.
func (e *UnknownError) Error() string {
	return "the Java virtual machine's code is not known: " + e.Reason +
		"; its frames are found by their instructions alone"
}

// New reads the tables of libjvm.so, of JDK 8, 11, 17, 21 and 25 to 28. The error is an [*UnknownError].
func New(o Options) (*VM, error) {
	if o.Arch != frames.X86_64 && o.Arch != frames.AArch64 {
		return nil, &UnknownError{Reason: "it is not one for x86-64 or arm64"}
	}
	l, err := readLayout(o.Read, o.Symbol)
	if err != nil {
		return nil, err
	}
	v := &VM{codeCache: newCodeCache(o, l)}
	if o.Arch == frames.AArch64 {
		v.a64 = &aarch64.Rules{Code: v.code}
	}
	var ok bool
	if v.header, ok = l.headerSize(); !ok {
		return nil, &UnknownError{Reason: "the header of a piece of code is larger than any known"}
	}
	return v, nil
}

// Changed reports whether cached code is out of date, and then drops it.
func (v *VM) Changed() bool {
	changed := v.codeCache.Changed()
	if changed && v.names != nil {
		v.names.forgetStubs()
	}
	return changed
}

// Rule implements [frames.RuleSource].
func (v *VM) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	b, ok := v.find(q.PC)
	if q.Caller && !ok {
		b, ok = v.find(q.PC - 1)
	}
	if !ok {
		return frames.Rule{}, nil, false
	}
	if v.a64 != nil {
		return v.ruleA64(&b, &q)
	}
	if q.Caller {
		return v.caller(&b, &q)
	}
	switch b.kind {
	case kindMethod:
		return v.inMethod(&b, q.PC)
	case kindInterpreter:
		if !q.SPOnly {
			return v.inInterpreter(&b, q.PC)
		}
	case kindStubRoutines:
		return v.inBarrier(&b, &q)
	case kindAdapter:
		return v.inAdapter(&b, &q)
	case kindException:
		return v.inException(&b, q.PC)
	case kindMethodHandles:
		return v.inMethodHandleAdapter(q.PC)
	case kindDispatch:
		return atEntry(frames.X86RSP, 8, frames.MethodCFI)
	}
	return frames.Rule{}, nil, false
}

func (v *VM) caller(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	switch {
	case b.kind == kindMethod && b.frameWords > 0:
		usual := 8 * (b.frameWords + wordsPushed(v.code(q.PC, maxEpilogue)))
		if v.o.Analysis != nil && !v.o.Analysis.KeepsSP(q.PC) {
			return v.byReturnPath(b, q.PC, usual)
		}
		return frameRule(usual), nil, true
	case b.kind == kindException && b.frameWords > 0:
		return frameRule(8 * b.frameWords), nil, true
	case b.kind.isAssembly():
		if r, row, ok := v.inForwardException(q.PC); ok || b.kind != kindStubRoutines {
			return r, row, ok
		}
		return v.inBarrier(b, q)
	case b.kind == kindAdapter:
		return v.inAdapter(b, q)
	case b.kind == kindDeopt && !q.SPOnly:
		// sp is realigned; rbp as in C frames (generate_deopt_blob).
		r := frames.Rule{CFAReg: frames.X86RBP, CFAOff: 16, Method: frames.MethodCFI}
		r.Saved[0] = 2
		return r, nil, true
	case b.kind == kindInterpreter && !q.SPOnly:
		return v.interpreterCalls(b, q.PC)
	}
	return frames.Rule{}, nil, false
}

// AfterRestore gives, for a return address in a stub that saved all registers, the place after their restoration, where
// its own frame is valid, with rbp as during the call.
func (v *VM) AfterRestore(q frames.Query) (pc uint64, ok bool) {
	if !q.Caller || v.a64 != nil {
		return 0, false
	}
	if b, ok := v.find(q.PC); !ok || !b.kind.isAssembly() {
		return 0, false
	}
	code := v.code(q.PC, maxRestores)
	at := bytes.Index(code, restoredAll)
	if at < 0 || !bytes.HasPrefix(code, restoresAll) {
		return 0, false
	}
	return q.PC + uint64(at+len(restoredAll)), true
}

// frameRule is the rule of a frame of size bytes below the CFA, with rbp saved below the return address.
func frameRule(size int32) frames.Rule {
	r := frames.Rule{CFAReg: frames.X86RSP, CFAOff: size, Method: frames.MethodCFI}
	r.Saved[0] = 2
	return r
}

// interpreted is the row of an interpreter frame, which holds the caller's rbp, return address and sp without
// arguments.
var interpreted = frames.Row{
	CFAReg: frames.X86RBP, CFAOff: -8, CFADeref: true,
	RA: frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RBP, Off: 8},
	Regs: [frames.NumRegs]frames.RegRule{
		frames.X86RBP: {Kind: frames.RuleRegOffset, Reg: frames.X86RBP},
		frames.X86RBX: {Kind: frames.RuleUndefined},
		frames.X86R12: {Kind: frames.RuleUndefined},
		frames.X86R13: {Kind: frames.RuleUndefined},
		frames.X86R14: {Kind: frames.RuleUndefined},
		frames.X86R15: {Kind: frames.RuleUndefined},
	},
}
