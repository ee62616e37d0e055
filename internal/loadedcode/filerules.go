// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
	"prywalk/internal/runtimes"
)

// fileRules are the rule sources of a file and its debug files.
type fileRules struct {
	table    managed.FileTable      // or nil
	sources  []frames.RuleSource    // by falling trust
	calls    *builtinsSource        // the last of sources
	code     *heuristics.Source     // of calls
	bounds   []heuristics.Functions // by falling trust
	cold     coldParts
	builtins []managed.Builtins
}

// prepare makes the sources by falling trust: a language's table, the file's call frame information, that of debug
// files, the analysis of instructions.
func (p *fileRules) prepare(symbols *fileSymbols) {
	f := symbols.elf
	p.bounds = append(p.bounds, pltStubs(f.PLTs()))
	if p.table = runtimes.TableOf(f); p.table != nil {
		p.add(p.table)
	}
	if own := CFI(f, p.table == nil); own != nil { // with a table, debugCFI has .debug_frame
		p.add(own)
	}
	p.add(&debugCFI{elf: f, from: symbols.from, table: p.table})
	p.bounds = append(p.bounds, &funcIndex{fileSymbols: symbols})
	p.cold = coldParts{fileSymbols: symbols}
	for _, k := range runtimes.Kinds {
		if k.Builtins != nil {
			p.builtins = append(p.builtins, k.Builtins(f, symbols))
		}
	}
	p.code = heuristics.New(heuristics.Options{Arch: f.Arch(), Code: &fileCode{f: f}, Funcs: p, Entry: f.Entry})
	a := &builtinsSource{p.code, p.builtins, f.Arch()}
	p.sources, p.calls = append(p.sources, a), a
}

func (p *fileRules) add(s interface {
	frames.RuleSource
	heuristics.Functions
}) {
	p.sources = append(p.sources, s)
	p.bounds = append(p.bounds, s)
}

// Table returns the table of a language's functions, or nil. Not safe for concurrent use.
func (img *Image) Table() managed.FileTable { return img.preparedRules().table }

// preparedTable returns the table for concurrent use, or nil. A file without a table is not prepared.
func (img *Image) preparedTable() managed.FileTable {
	if !img.mayHaveTable() {
		return nil
	}
	t := img.Table()
	if t != nil {
		img.mu.Lock()
		defer img.mu.Unlock()
		t.Prepare()
	}
	return t
}

func (img *Image) mayHaveTable() bool {
	img.mu.Lock()
	defer img.mu.Unlock()
	return runtimes.HasTable(img.ELF)
}

// FuncRange implements heuristics.Functions.
func (p *fileRules) FuncRange(pc uint64) (start, end uint64, ok bool) {
	for _, b := range p.bounds {
		if start, end, ok = b.FuncRange(pc); ok {
			return start, end, ok
		}
	}
	return 0, 0, false
}

// Parent implements heuristics.Parts.
func (p *fileRules) Parent(start uint64) (lo, hi uint64, ok bool) { return p.cold.Parent(start) }

// SavesFPOnly implements heuristics.Conventions.
func (p *fileRules) SavesFPOnly(pc uint64) bool {
	return slices.ContainsFunc(p.builtins, func(b managed.Builtins) bool { return b.SavesFPOnly(pc) })
}
