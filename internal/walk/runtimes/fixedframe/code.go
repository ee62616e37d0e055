// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"slices"
	"sort"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Kind describes a runtime.
type Kind struct {
	Name string
	// Marker is a symbol that only this runtime exports.
	Marker string
	// Entry is the exported function that enters the runtime's code, or "".
	Entry string
	// find sets the sources of rules; it returns false if the code is unknown.
	find func(*Runtime) bool
}

// The runtimes.
var (
	LuaJIT = &Kind{Name: "LuaJIT", Marker: "luaJIT_setmode", find: findLuaJIT}
	BEAM   = &Kind{Name: "Erlang", Marker: "erts_dirty_process_main", Entry: "process_main", find: findBeam}
	PyPy   = &Kind{Name: "PyPy", Marker: "pypy_execute_source", find: findPyPy}

	kinds = []*Kind{LuaJIT, BEAM, PyPy}
)

type process struct {
	host  managed.Host
	lib   *frames.Module
	entry uint64 // run-time address of [Kind.Entry]'s function, or 0
}

func (p *process) moduleAt(addr uint64) *frames.Module {
	mods := p.host.Modules()
	i := sort.Search(len(mods), func(i int) bool { return mods[i].End > addr })
	if i == len(mods) || mods[i].Start > addr {
		return nil
	}
	return mods[i]
}

func (p *process) isGenerated(addr uint64) bool {
	m := p.moduleAt(addr)
	return m != nil && m.Generated
}

func (p *process) callBefore(ret uint64) (call frames.Call, in *frames.Module, ok bool) {
	m := p.moduleAt(ret - 1)
	if m == nil || m.Calls == nil {
		return call, nil, false
	}
	call, ok = m.Calls.CallBefore(ret - m.Bias)
	call.Target += m.Bias
	return call, m, ok
}

func (p *process) followsCall(ret uint64) bool {
	_, _, ok := p.callBefore(ret)
	return ok
}

// oneCall returns the CFA if exactly one of the words follows a direct call of target.
func (p *process) oneCall(mem frames.Memory, from uint64, words int, target uint64) (cfa, unread uint64, ok bool) {
	for i := range uint64(words) {
		at := from + 8*i
		ret, readable := mem.Word(at)
		if !readable {
			return 0, at, false
		}
		call, m, called := p.callBefore(ret)
		if !called || m.Generated || !call.Direct || call.Target != target {
			continue
		}
		if ok {
			return 0, 0, false
		}
		cfa, ok = at+8, true
	}
	return cfa, 0, ok
}

// maxText and textPart are in bytes.
const (
	maxText  = 64 << 20
	textPart = 64 << 10
)

// eachText calls f with overlapping parts of a module's code until it returns true.
func (p *process) eachText(m *frames.Module, overlap uint64, f func(addr uint64, code []byte) (enough bool)) {
	b := make([]byte, textPart)
	for at := m.Start; at < m.End && at-m.Start < maxText; at += textPart - overlap {
		n := p.host.Read(at, b[:min(uint64(len(b)), m.End-at)])
		if n == 0 || f(at, b[:n]) {
			return
		}
	}
}

type ruleFunc func(q frames.Query) (frames.Rule, *frames.Row, bool)

// Rule implements [frames.RuleSource].
func (f ruleFunc) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) { return f(q) }

// compactX86 has the registers in the order of [frames.Rule.Saved].
var compactX86 = func() []uint8 {
	regs := frames.X86_64.CompactRegs()
	return regs[:slices.Index(regs[:], frames.NoReg)]
}()
