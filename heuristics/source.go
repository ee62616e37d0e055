// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// Code reads the instructions of a module.
type Code interface {
	// ReadCode fills buf from addr, a module address, and returns the number of bytes, 0 if there is no code.
	ReadCode(addr uint64, buf []byte) int
}

// Functions has the bounds of a module's functions.
type Functions interface {
	// FuncRange returns the bounds of the function at pc, the end excluded.
	FuncRange(pc uint64) (start, end uint64, ok bool)
}

// Parts is a [Functions] that knows parts split off functions (NAME.cold of GCC and LLVM).
type Parts interface {
	// Parent returns the bounds of the function of which the part at start was split off; false if none begins there.
	Parent(start uint64) (lo, hi uint64, ok bool)
}

// Conventions is a [Functions] that knows which compiled code keeps only the frame pointer: V8's builtins.
type Conventions interface {
	SavesFPOnly(pc uint64) bool
}

// Options describe the module of a [Source].
type Options struct {
	Arch  frames.Arch
	Code  Code      // required
	Funcs Functions // if nil, code is only analysed forwards
	Entry uint64    // e_entry of the ELF header, or 0
	JIT   bool      // the code keeps only the frame pointer, and may change while it is read
}

// Source analyses a module's code, as a [frames.RuleSource] and [frames.CallSites], for one goroutine at a time. It
// keeps answers until [Source.Forget].
type Source struct {
	opt      Options
	abi      *abi
	row      frames.Row
	memo     memo
	entryEnd uint64   // end of the entry point's code; 0: not determined
	buf      [24]byte // not a local variable, which would escape
}

var (
	_ frames.RuleSource      = (*Source)(nil)
	_ frames.CallSites       = (*Source)(nil)
	_ frames.TailCalls       = (*Source)(nil)
	_ frames.StackSwitches   = (*Source)(nil)
	_ frames.PoppedRegisters = (*Source)(nil)
)

// New returns a source, without answers for an unknown architecture.
func New(o Options) *Source {
	return &Source{opt: o, abi: abis[o.Arch]}
}

// Rule implements [frames.RuleSource]. The method is fp if the instructions prove a frame pointer, else heuristic.
func (s *Source) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if s.abi == nil || s.opt.Code == nil {
		return frames.Rule{}, nil, false
	}
	a, known := s.memo.rules[q]
	if !known {
		a.rule, a.row, a.ok = s.find(q)
		s.memo.add(q, a)
	}
	return a.rule, a.row, a.ok
}

func (s *Source) find(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if row := s.sigreturnRow(q); row != nil {
		return frames.Rule{CFAReg: row.CFAReg, Flags: frames.FlagSignal, Method: frames.MethodHeuristic}, row, true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	if s.isRoot(w, q) {
		return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodHeuristic}, nil, true
	}
	if r, row, ok := s.frameSwitch(w, q); ok {
		return r, row, true
	}
	if s.abi.argumentDrop != nil && !q.Caller && !q.SPOnly {
		if row, ok := s.abi.argumentDrop(w, q.PC); ok {
			r, _ := row.Compact(s.opt.Arch, frames.MethodHeuristic, 0)
			return r, row, true
		}
	}
	f, ok := s.analyse(w, q)
	if !ok && s.opt.JIT && !q.Caller && s.abi.ra == noReg && s.isThunk(w, q.PC) {
		f, ok = s.thunkFrame(), true
	}
	if !ok {
		return frames.Rule{}, nil, false
	}
	return s.rule(&f, q)
}

// CallBefore implements [frames.CallSites].
func (s *Source) CallBefore(ret frames.Addr) (frames.Call, bool) {
	if s.abi == nil || s.opt.Code == nil {
		return frames.Call{}, false
	}
	return s.abi.callBefore(s, ret)
}

// FuncStart implements [frames.CallSites].
func (s *Source) FuncStart(pc frames.Addr) (frames.Addr, bool) {
	start, _, ok := s.bounds(pc)
	return start, ok
}

func (s *Source) bounds(pc uint64) (start, end uint64, ok bool) {
	if s.opt.Funcs == nil {
		return 0, 0, false
	}
	start, end, ok = s.opt.Funcs.FuncRange(pc)
	if !ok || pc < start || pc >= end {
		return 0, 0, false
	}
	return start, end, true
}

func (s *Source) rule(f *finding, q frames.Query) (frames.Rule, *frames.Row, bool) {
	m := frames.MethodHeuristic
	if f.cfa.base == s.abi.fp && f.calleeSaved[0] == (savedReg{inMemory, s.abi.fp, 0}) {
		m = frames.MethodFP
	}
	if q.SPOnly && f.cfa.base != s.abi.sp || !f.fill(s.abi, &s.row) {
		return frames.Rule{}, nil, false
	}
	r, more := s.row.Compact(s.opt.Arch, m, 0)
	if !more {
		return r, nil, true
	}
	row := s.row
	return r, &row, true
}
