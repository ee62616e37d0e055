// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// Code reads a module's instructions.
type Code interface {
	// ReadCode fills buf with the bytes at addr, an address in the module's own terms, and returns how many there are.
	// The number is smaller than len(buf) where the code ends, 0 where there is none.
	ReadCode(addr uint64, buf []byte) int
}

// Functions tells function bounds where symbols, call frame information or a
// perf map know them.
type Functions interface {
	// FuncRange gives the first address of the function that pc is in, and the
	// first one after it.
	FuncRange(pc uint64) (start, end uint64, ok bool)
}

// Parts is what a [Functions] implements that knows the parts that compilers split off
// functions: GCC and LLVM name such a part like its function, with .cold appended.
type Parts interface {
	// Parent gives the function that the part at start was split off; false if
	// no such part begins there.
	Parent(start uint64) (lo, hi uint64, ok bool)
}

// Conventions is what a [Functions] implements that knows code which keeps none of the ABI's registers but the
// frame pointer, although it was not made at run time. V8 has such builtins, which its own compiler has
// made.
type Conventions interface {
	// KeepsFPOnly reports whether the code at pc is such.
	KeepsFPOnly(pc uint64) bool
}

// Options says what a [Source] reads.
type Options struct {
	Arch frames.Arch
	// Code is the module's code; it must not be nil.
	Code Code
	// Funcs may be nil; the analysis then goes forwards only.
	Funcs Functions
	// Entry is the ELF header's e_entry, 0 if there is none.
	Entry uint64
	// JIT: the code was made by a JIT compiler, which keeps none of the ABI's
	// registers but the frame pointer, and may change under the reader.
	JIT bool
}

// Source analyses one module's code. It implements [frames.RuleSource] and
// [frames.CallSites]. It remembers a bounded number of answers until Forget, and is for
// one goroutine at a time.
type Source struct {
	o    Options
	abi  *abi
	row  frames.Row
	memo memo
	// entryEnd is the end of the code at the entry point, 0 if it was not looked for.
	entryEnd uint64
	buf      [24]byte // what CallBefore and sigreturn read; kept here as it would escape
}

var (
	_ frames.RuleSource = (*Source)(nil)
	_ frames.CallSites  = (*Source)(nil)
	_ frames.Jumps      = (*Source)(nil)
	_ frames.Switches   = (*Source)(nil)
	_ frames.Pops       = (*Source)(nil)
)

// New gives a source for a module. With an architecture that is not known it
// has no answers.
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

// Rule implements [frames.RuleSource]. The rule's method is fp where the CFA is
// relative to the frame pointer and the function's own instructions prove that
// it is one, else heuristic.
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

// find is Rule without what is remembered.
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

// FuncStart implements [frames.CallSites], by Options.Funcs.
func (s *Source) FuncStart(pc frames.Addr) (frames.Addr, bool) {
	start, _, ok := s.bounds(pc)
	return start, ok
}

// bounds gives the function around pc; not one that does not contain pc.
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

// rule turns a finding into a rule.
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
