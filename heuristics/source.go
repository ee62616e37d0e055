// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// Code reads the instructions of a module.
type Code interface {
	// ReadCode fills buf from addr, a module address, and returns the number of bytes: 0 where no code is.
	ReadCode(addr uint64, buf []byte) int
}

// Functions gives the bounds of the functions of a module.
type Functions interface {
	// FuncRange gives the bounds of pc's function, end excluded.
	FuncRange(pc uint64) (start, end uint64, ok bool)
}

// Parts is a [Functions] that knows parts split off functions (GCC's and LLVM's NAME.cold).
type Parts interface {
	// Parent gives the function that the part at start was split off; false if none begins there.
	Parent(start uint64) (lo, hi uint64, ok bool)
}

// Conventions is a [Functions] that knows code, not made at run time, that keeps only the frame pointer: V8's builtins.
type Conventions interface {
	KeepsFPOnly(pc uint64) bool
}

// Options are what a [Source] knows of its module.
type Options struct {
	Arch frames.Arch
	// Code is required.
	Code Code
	// Funcs may be nil: the analysis then goes forwards only.
	Funcs Functions
	// Entry is the ELF header's e_entry, 0 if none.
	Entry uint64
	// JIT: code keeps only the frame pointer, and may change while it is read.
	JIT bool
}

// Source analyses a module's code: a [frames.RuleSource] and [frames.CallSites]. It caches answers until Forget. One
// goroutine at a time.
type Source struct {
	o    Options
	abi  *abi
	row  frames.Row
	memo memo
	// entryEnd is the end of the entry point's code, 0 if not determined.
	entryEnd uint64
	buf      [24]byte // here, as it would escape
}

var (
	_ frames.RuleSource = (*Source)(nil)
	_ frames.CallSites  = (*Source)(nil)
	_ frames.Jumps      = (*Source)(nil)
	_ frames.Switches   = (*Source)(nil)
	_ frames.Pops       = (*Source)(nil)
)

// New gives a source; of an unknown architecture, one without answers.
func New(o Options) *Source {
	s := &Source{o: o}
	switch o.Arch {
	case frames.X86_64:
		s.abi = &abiX86
	case frames.AArch64:
		s.abi = &abiAArch64
	}
	return s
}

// Rule implements [frames.RuleSource]. The method is fp where the CFA is by a frame pointer that the function's
// instructions prove, else heuristic.
func (s *Source) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if s.abi == nil || s.o.Code == nil {
		return frames.Rule{}, nil, false
	}
	a, known := s.memo.rules[q]
	if !known {
		a.rule, a.row, a.ok = s.find(q)
		s.memo.keep(q, a)
	}
	return a.rule, a.row, a.ok
}

func (s *Source) find(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if row := s.sigreturn(q); row != nil {
		return frames.Rule{CFAReg: row.CFAReg, Flags: frames.FlagSignal, Method: frames.MethodHeuristic}, row, true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	if s.isRoot(w, q) {
		return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodHeuristic}, nil, true
	}
	if r, row, ok := s.departure(w, q); ok {
		return r, row, true
	}
	if s.abi.argumentDrop != nil && !q.Caller && !q.SPOnly {
		if row, ok := s.abi.argumentDrop(w, q.PC); ok {
			r, _ := row.Rule(s.o.Arch, frames.MethodHeuristic, 0)
			return r, row, true
		}
	}
	f, ok := s.analyse(w, q)
	if !ok && s.o.JIT && !q.Caller && s.abi.ra == noReg && s.passing(w, q.PC) {
		f, ok = s.passedOn(), true
	}
	if !ok {
		return frames.Rule{}, nil, false
	}
	return s.rule(&f, q)
}

// CallBefore implements [frames.CallSites].
func (s *Source) CallBefore(ret frames.Addr) (frames.Call, bool) {
	if s.abi == nil || s.o.Code == nil {
		return frames.Call{}, false
	}
	return s.abi.callBefore(s, ret)
}

// FuncStart is by Options.Funcs.
func (s *Source) FuncStart(pc frames.Addr) (frames.Addr, bool) {
	start, _, ok := s.bounds(pc)
	return start, ok
}

func (s *Source) bounds(pc uint64) (start, end uint64, ok bool) {
	if s.o.Funcs == nil {
		return 0, 0, false
	}
	start, end, ok = s.o.Funcs.FuncRange(pc)
	if !ok || pc < start || pc >= end {
		return 0, 0, false
	}
	return start, end, true
}

func (s *Source) rule(f *found, q frames.Query) (frames.Rule, *frames.Row, bool) {
	m := frames.MethodHeuristic
	if f.cfa.base == s.abi.fp && f.kept[0] == (savedReg{inMemory, s.abi.fp, 0}) {
		m = frames.MethodFP
	}
	if q.SPOnly && f.cfa.base != s.abi.sp || !f.fill(s.abi, &s.row) {
		return frames.Rule{}, nil, false
	}
	r, more := s.row.Rule(s.o.Arch, m, 0)
	if !more {
		return r, nil, true
	}
	row := s.row
	return r, &row, true
}
