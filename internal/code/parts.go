package code

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/elffile"
	"prywalk/internal/gotables"
)

// parts are what an image's code is understood with.
type parts struct {
	goTable *gotables.Table
	sources []frames.RuleSource // in falling trust
	calls   frames.CallSites
	code    *heuristics.Source     // the last of sources, and calls
	bounds  []heuristics.Functions // what knows the functions' bounds, best first
	cold    coldParts
	v8      embedded
}

// prepare makes them; nothing but headers is parsed, and of a Go program its table
// is read. more are the files that tell more of this one.
func (p *parts) prepare(f *elffile.File, more *separate) {
	stubs := newStubs(f)
	p.bounds = append(p.bounds, stubs)
	if p.goTable = goTable(f); p.goTable != nil {
		p.sources = append(p.sources, p.goTable)
		p.bounds = append(p.bounds, p.goTable)
	}
	p.addCFI(f)
	cfi := &moreCFI{elf: f, from: more, goes: p.goTable}
	p.sources = append(p.sources, cfi)
	p.bounds = append(p.bounds, cfi, &funcIndex{elf: f, from: more})
	p.cold = coldParts{elf: f, from: more}
	p.v8 = embedded{elf: f, from: more}
	h := heuristics.New(heuristics.Options{Arch: f.Arch(), Code: &fileCode{f: f}, Funcs: p, Entry: f.Entry})
	p.sources = append(p.sources, h)
	p.calls, p.code = h, h
}

// FuncRange gives the bounds of the function that pc is in.
func (p *parts) FuncRange(pc uint64) (start, end uint64, ok bool) {
	for _, b := range p.bounds {
		if start, end, ok = b.FuncRange(pc); ok {
			return start, end, ok
		}
	}
	return 0, 0, false
}

// Parent implements heuristics.Parts.
func (p *parts) Parent(start uint64) (lo, hi uint64, ok bool) { return p.cold.Parent(start) }

// KeepsFPOnly implements heuristics.Conventions.
func (p *parts) KeepsFPOnly(pc uint64) bool { return p.v8.KeepsFPOnly(pc) }

// makeJIT gives a module of code that was made at run time its sources: the same for
// all such modules, since their addresses are those of the process.
func makeJIT(o owner, mod *frames.Module) {
	mod.Generated = true
	mod.Sources = []frames.RuleSource{o.jitSource()}
	mod.Calls = o.jitSource()
}

// jitBounds asks the Java virtual machine for function bounds, and whoever the caller named.
type jitBounds struct {
	vm  *javaVM
	ask *func(pc uint64) (start, end uint64, ok bool)
}

// FuncRange implements heuristics.Functions.
func (b jitBounds) FuncRange(pc uint64) (start, end uint64, ok bool) {
	if start, end, ok = b.vm.FuncRange(pc); ok {
		return start, end, ok
	}
	if *b.ask == nil {
		return 0, 0, false
	}
	return (*b.ask)(pc)
}
