// SPDX-License-Identifier: Apache-2.0

package code

import (
	"prywalk/frames"
	"prywalk/heuristics"
)

// Runtimes knows the code that a process has made at run time: by the analysis of its instructions, and by the run-time
// systems of internal/runtimes.
type Runtimes struct {
	arch  frames.Arch
	code  *heuristics.Source
	found found
	host  host // of the last Adopt
}

// FuncBounds gives the bounds of a function that was compiled at run time, at run-time addresses.
type FuncBounds = func(pc uint64) (start, end uint64, ok bool)

// NewRuntimes knows nothing but the instructions, which code reads. ask may be set to what else knows functions.
func NewRuntimes(arch frames.Arch, code heuristics.Code, ask *FuncBounds) *Runtimes {
	r := &Runtimes{arch: arch}
	r.code = heuristics.New(heuristics.Options{Arch: arch, Code: code, Funcs: jitBounds{&r.found, ask}, JIT: true})
	return r
}

// Describe gives a module of code that was made at run time its sources: the same for all such modules, since their
// addresses are those of the process.
func (r *Runtimes) Describe(mod *frames.Module) {
	mod.Generated = true
	mod.Sources = []frames.RuleSource{r.code}
	mod.Calls = r.code
}

// Adopt looks for run-time systems among all modules, and gives their modules the sources that they have.
func (r *Runtimes) Adopt(o AddressSpace, mods []*frames.Module) {
	r.host = host{AddressSpace: o, arch: r.arch, mods: mods, flow: r.code}
	r.found.adopt(&r.host)
	for _, m := range mods {
		nameBy(m)
	}
}

// nameBy lets a module's functions be named by the source of its rules, if that describes them, too.
func nameBy(m *frames.Module) {
	at := MappingOf(m)
	if at == nil || !m.Generated || len(m.Sources) == 0 {
		return
	}
	if names, ok := m.Sources[0].(Names); ok {
		at.Names = names
	}
}

// Unknown gives why a run-time system that is there is not read, nil if there is none or it is.
func (r *Runtimes) Unknown() error { return r.found.unknown() }

// changed reports whether rules that were given do not hold any more.
func (r *Runtimes) changed() bool { return r.found.changed() }

// again asks those run-time systems anew that could not be read; true if one was found.
func (r *Runtimes) again() bool { return r.found.again(&r.host) }

// exec: another program runs now.
func (r *Runtimes) exec() { r.found = found{} }

// forget drops what is remembered of the code.
func (r *Runtimes) forget() {
	r.code.Forget()
	r.found.forget()
}

// jitBounds asks the run-time systems for function bounds, and whoever the caller named.
type jitBounds struct {
	of  *found
	ask *FuncBounds
}

// FuncRange implements heuristics.Functions.
func (b jitBounds) FuncRange(pc uint64) (start, end uint64, ok bool) {
	if start, end, ok = b.of.funcRange(pc); ok {
		return start, end, ok
	}
	if *b.ask == nil {
		return 0, 0, false
	}
	return (*b.ask)(pc)
}
