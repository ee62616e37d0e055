// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// Code reads the instructions of a module.
type Code interface {
	// ReadCode fills buf from addr and returns the number of bytes, 0 if there is no code.
	ReadCode(addr frames.ModuleAddr, buf []byte) int
}

// Functions has the bounds of a module's functions.
type Functions = frames.FunctionBounds

// Parts is a [Functions] that knows parts split off functions (NAME.cold of GCC and LLVM).
type Parts interface {
	// Parent returns the bounds of the function of the part at start; false if no part begins there.
	Parent(start frames.ModuleAddr) (lo, hi frames.ModuleAddr, ok bool)
}

// Conventions is a [Functions] that knows which compiled code keeps only the frame pointer: V8's builtins.
type Conventions interface {
	SavesFPOnly(pc frames.ModuleAddr) bool
}

// Options describe the module of a [Source].
type Options struct {
	Arch  frames.Arch
	Code  Code              // required
	Funcs Functions         // nil means that prologues and code that switches frames are not recognised
	Entry frames.ModuleAddr // e_entry of the ELF header, or 0
	JIT   bool              // the code keeps only the frame pointer, and may change while it is read
}

// Source analyses a module's code, as a [frames.RuleSource] and [frames.CallSites], for one goroutine at a time. It
// keeps no answers: a [frames.Space] does.
type Source struct {
	opt Options
	abi *abi     // nil means no answers
	buf [24]byte // a local variable would escape
}

var (
	_ frames.RuleSource      = (*Source)(nil)
	_ frames.CallSites       = (*Source)(nil)
	_ frames.TailCalls       = (*Source)(nil)
	_ frames.StackSwitches   = (*Source)(nil)
	_ frames.PoppedRegisters = (*Source)(nil)
	_ frames.StackEnds       = (*Source)(nil)
)

// New returns a source, without answers for an unknown architecture.
func New(o Options) *Source {
	s := &Source{opt: o}
	if o.Code != nil {
		s.abi = abis[o.Arch]
	}
	return s
}

// Rule implements [frames.RuleSource]. The method is fp if the instructions have set a frame pointer, else heuristic.
func (s *Source) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if s.abi == nil {
		return frames.Rule{}, nil, false
	}
	a := s.analysis()
	defer a.free()
	for _, method := range methods {
		if r, row, ok := method(a, q); ok {
			return r, row, true
		}
	}
	return frames.Rule{}, nil, false
}

// The first answer counts.
var methods = [...]func(*analysis, frames.Query) (frames.Rule, *frames.Row, bool){
	(*analysis).sigreturn,    // a signal trampoline
	(*analysis).root,         // the first function of a program, thread or prepared stack
	(*analysis).frameSwitch,  // code about to continue another frame
	(*analysis).argumentDrop, // V8's code with its return address in a register
	(*analysis).argumentPush,
	(*analysis).functionRule, // epilogues and prologues; else code that forwards a call
}

// CallBefore implements [frames.CallSites].
func (s *Source) CallBefore(ret frames.ModuleAddr) (frames.Call, bool) {
	if s.abi == nil {
		return frames.Call{}, false
	}
	return s.abi.callBefore(s, ret)
}

// FuncStart implements [frames.CallSites].
func (s *Source) FuncStart(pc frames.ModuleAddr) (frames.ModuleAddr, bool) {
	f, ok := s.bounds(pc)
	return f.lo, ok
}

func (s *Source) bounds(pc uint64) (span, bool) {
	if s.opt.Funcs == nil {
		return span{}, false
	}
	lo, hi, ok := s.opt.Funcs.FuncRange(pc)
	f := span{lo, hi}
	if !ok || !f.has(pc) {
		return span{}, false
	}
	return f, true
}

func (s *Source) boundsOf(q frames.Query) (span, bool) { return s.bounds(q.LookupPC(s.opt.Arch)) }
