// SPDX-License-Identifier: Apache-2.0

package code

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/elffile"
	"prywalk/internal/runtimes/golang"
	"prywalk/internal/runtimes/v8"
)

type parts struct {
	goTable *golang.Table
	sources []frames.RuleSource // best first
	calls   frames.CallSites
	code    *heuristics.Source     // last of sources
	bounds  []heuristics.Functions // best first
	cold    coldParts
	v8      *v8.Builtins
}

// more are debug files.
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
	a := p.v8.With(h, f.Arch())
	p.sources = append(p.sources, a)
	p.calls, p.code = a, h
}

// FuncRange implements heuristics.Functions.
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
