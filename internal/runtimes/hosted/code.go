// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"encoding/binary"
	"sort"

	"prywalk/frames"
)

// Options says what is read of a process.
type Options struct {
	Arch frames.Arch
	// Read fills b with the process's memory at addr and gives the number of bytes.
	Read func(addr uint64, b []byte) int
	// Entry is the run-time address of the function that [Kind.Entry] names, 0 if there is none.
	Entry uint64
	// Modules are all of its modules, in order of their addresses.
	Modules []*frames.Module
}

// Runtime knows the frames of the code that one runtime has made, at run-time addresses.
type Runtime interface {
	// First are asked before the instructions of such code are analysed, Last after that. Either may be nil.
	First() frames.RuleSource
	Last() frames.RuleSource
	// Own is asked first of the runtime's own code, where its call frame information does not hold; it may be nil.
	Own() frames.RuleSource
	// Owns reports whether it may be the one who has made that code.
	Owns(m *frames.Module) bool
	// Update tells the modules as they are now. Rules that were given before hold no more.
	Update(mods []*frames.Module)
}

// Kind names a runtime whose code can be known.
type Kind uint8

// The runtimes. None is the zero value.
const (
	None Kind = iota
	LuaJIT
	Guile
	Chez
	BEAM
	SBCL
	PyPy
)

// String gives the name that people use.
func (k Kind) String() string {
	return [...]string{"none", "LuaJIT", "Guile", "Chez Scheme", "Erlang", "SBCL", "PyPy"}[k]
}

// markers are symbols that a runtime's file exports, and others do not.
var markers = map[string]Kind{
	"luaJIT_setmode":          LuaJIT,
	"scm_with_guile":          Guile,
	"S_generic_invoke":        Chez,
	"erts_dirty_process_main": BEAM,
	"call_into_lisp":          SBCL,
	"pypy_execute_source":     PyPy,
}

// Marked gives the runtime that exports a symbol of that name.
func Marked(symbol string) Kind { return markers[symbol] }

// Entry gives the name of the exported function by which the runtime's code is entered; empty if none is needed.
func (k Kind) Entry() string {
	switch k {
	case Chez:
		return "S_generic_invoke"
	case BEAM:
		return "process_main"
	}
	return ""
}

// New gives what knows the code of the runtime in module lib; nil if nothing does.
func New(k Kind, lib *frames.Module, o Options) Runtime {
	if o.Arch != frames.X86_64 {
		return nil
	}
	p := &process{o: o, lib: lib}
	switch k {
	case LuaJIT:
		return newLuaJIT(p)
	case Guile:
		return newGuile(p)
	case Chez:
		return newChez(p)
	case BEAM:
		return newBeam(p)
	case SBCL:
		return newSBCL(p)
	case PyPy:
		return newPyPy(p)
	}
	return nil
}

// process is what the runtimes ask of a process.
type process struct {
	o   Options
	lib *frames.Module // the runtime's library
}

// find gives the module at an address, nil if none.
func (p *process) find(addr uint64) *frames.Module {
	mods := p.o.Modules
	i := sort.Search(len(mods), func(i int) bool { return mods[i].End > addr })
	if i == len(mods) || mods[i].Start > addr {
		return nil
	}
	return mods[i]
}

// made reports whether code at an address was made at run time.
func (p *process) made(addr uint64) bool {
	m := p.find(addr)
	return m != nil && m.Generated
}

// called reports whether an address follows a call instruction of code that was not made at run time.
func (p *process) called(ret uint64) bool {
	m := p.find(ret - 1)
	if m == nil || m.Generated || m.Calls == nil {
		return false
	}
	_, ok := m.Calls.CallBefore(ret - m.Bias)
	return ok
}

// oneCall gives the CFA if, of so many words from an address on, one is a return address of a direct call of the
// function at target, and no other.
func (p *process) oneCall(mem frames.Memory, from uint64, words int, target uint64) (cfa, unread uint64, ok bool) {
	for i := range uint64(words) {
		at := from + 8*i
		ret, readable := mem.Word(at)
		if !readable {
			return 0, at, false
		}
		if !p.calls(ret, target) {
			continue
		}
		if ok {
			return 0, 0, false
		}
		cfa, ok = at+8, true
	}
	return cfa, 0, ok
}

// calls reports whether an address follows a direct call of the runtime's function at target.
func (p *process) calls(ret, target uint64) bool {
	m := p.find(ret - 1)
	if m == nil || m.Generated || m.Calls == nil {
		return false
	}
	call, ok := m.Calls.CallBefore(ret - m.Bias)
	return ok && call.Direct && call.Target+m.Bias == target
}

// word reads a number of size bytes; false if it cannot be read.
func (p *process) word(addr uint64, size int) (uint64, bool) {
	var b [8]byte
	if p.o.Read(addr, b[:size]) < size {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// maxText bounds the code of a library that is looked at, and textPart is how much of it at a time.
const (
	maxText  = 64 << 20
	textPart = 64 << 10
)

// eachText calls f with the code of a module, in pieces that overlap by some bytes, until f says that it is enough.
func (p *process) eachText(m *frames.Module, overlap uint64, f func(addr uint64, code []byte) (enough bool)) {
	b := make([]byte, textPart)
	for at := m.Start; at < m.End && at-m.Start < maxText; at += textPart - overlap {
		n := p.o.Read(at, b[:min(uint64(len(b)), m.End-at)])
		if n == 0 || f(at, b[:n]) {
			return
		}
	}
}

// proof is a rule by which a frame is looked for and proven.
type proof struct {
	prove func(regs *frames.Regs, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool)
	row   frames.Row
}

// newProof makes one whose frame keeps registers at these distances below the CFA.
func newProof(saved map[uint8]int64) *proof {
	p := &proof{}
	p.row.CFAExpr = p
	p.row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	p.keeps(saved)
	return p
}

// keeps says where the frame keeps registers.
func (p *proof) keeps(saved map[uint8]int64) {
	for reg, below := range saved {
		p.row.Regs[reg] = frames.RegRule{Kind: frames.RuleOffset, Off: -below}
	}
}

// loses says that the frame keeps no register of its caller's.
func (p *proof) loses() {
	for _, reg := range compactX86 {
		p.row.Regs[reg] = frames.RegRule{Kind: frames.RuleUndefined}
	}
}

// rule gives the rule as a source does.
func (p *proof) rule() (frames.Rule, *frames.Row, bool) {
	return frames.Rule{Method: frames.MethodHeuristic}, &p.row, true
}

// Eval implements [frames.Expr].
func (p *proof) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	cfa, _, ok := p.prove(regs, mem, regs.PC)
	return cfa, ok
}

// Prove implements [frames.Prover].
func (p *proof) Prove(regs *frames.Regs, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool) {
	return p.prove(regs, mem, pc)
}

// ruleFunc is a source that has one function.
type ruleFunc func(q frames.Query) (frames.Rule, *frames.Row, bool)

// Rule implements [frames.RuleSource].
func (f ruleFunc) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) { return f(q) }

// compactX86 are the registers of [frames.Rule.Saved].
var compactX86 = [...]uint8{frames.X86RBP, frames.X86RBX, frames.X86R12, frames.X86R13, frames.X86R14, frames.X86R15}
