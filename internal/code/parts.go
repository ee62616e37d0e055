// SPDX-License-Identifier: Apache-2.0

package code

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/elffile"
	"prywalk/internal/runtimes/golang"
	"prywalk/internal/runtimes/v8"
)

// parts are what an image's code is understood with.
type parts struct {
	goTable *golang.Table
	sources []frames.RuleSource // in falling trust
	calls   frames.CallSites
	code    *heuristics.Source     // the last of sources, and calls
	bounds  []heuristics.Functions // what knows the functions' bounds, best first
	cold    coldParts
	v8      *v8.Builtins
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
	p.v8 = v8.New(f, func(yield func(*elffile.File, elffile.SymbolKind)) { eachTable(f, more, yield) })
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
