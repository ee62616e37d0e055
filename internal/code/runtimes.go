// SPDX-License-Identifier: Apache-2.0

package code

import (
	"prywalk/frames"
	"prywalk/heuristics"
)

// Runtimes gives rules for code made at run time, from its instructions and internal/runtimes.
type Runtimes struct {
	arch  frames.Arch
	code  *heuristics.Source
	found found
	host  host
}

// FuncBounds gives the bounds of a function at a run-time address.
type FuncBounds = func(pc uint64) (start, end uint64, ok bool)

// NewRuntimes analyses instructions read by code. *ask may be set to a further source of function bounds.
func NewRuntimes(arch frames.Arch, code heuristics.Code, ask *FuncBounds) *Runtimes {
	r := &Runtimes{arch: arch}
	r.code = heuristics.New(heuristics.Options{Arch: arch, Code: code, Funcs: jitBounds{&r.found, ask}, JIT: true})
	return r
}

// SetSources sets the sources of a module made at run time. They are shared: addresses are the process's.
func (r *Runtimes) SetSources(mod *frames.Module) {
	mod.Generated = true
	mod.Sources = []frames.RuleSource{r.code}
	mod.Calls = r.code
}

// Attach finds run-time systems among mods and sets their modules' sources.
func (r *Runtimes) Attach(o AddressSpace, mods []*frames.Module) {
	r.host = host{AddressSpace: o, arch: r.arch, mods: mods, flow: r.code}
	r.found.detect(&r.host)
	for _, m := range mods {
		nameBy(m)
	}
}

func nameBy(m *frames.Module) {
	at := MappingOf(m)
	if at == nil || !m.Generated || len(m.Sources) == 0 {
		return
	}
	if names, ok := m.Sources[0].(Names); ok {
		at.Names = names
	}
}

// Unknown gives why a present run-time system is not read; nil for none.
func (r *Runtimes) Unknown() error { return r.found.unknown() }

func (r *Runtimes) changed() bool { return r.found.changed() }

func (r *Runtimes) retry() bool { return r.found.retry(&r.host) }

func (r *Runtimes) exec() { r.found = found{} }

func (r *Runtimes) forget() {
	r.code.Forget()
	r.found.forget()
}

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
