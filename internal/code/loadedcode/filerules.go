// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes"
)

type fileRules struct {
	table    managed.FileTable   // or nil
	sources  []frames.RuleSource // by falling trust; the fileRules are the last
	arch     frames.Arch
	code     *heuristics.Source
	bounds   []heuristics.Functions // by falling trust
	cold     coldParts
	builtins []managed.Builtins
}

func (r *fileRules) prepare(symbols *fileSymbols) {
	f := symbols.elf
	for _, t := range f.PLTs() {
		r.bounds = append(r.bounds, &t)
	}
	if r.table = runtimes.TableOf(f); r.table != nil {
		r.add(r.table)
	}
	if own := CFI(f, r.table == nil); own != nil { // with a table, debugCFI has .debug_frame
		r.add(own)
	}
	r.add(&debugCFI{symbols: symbols, table: r.table})
	r.bounds = append(r.bounds, &funcIndex{symbols: symbols})
	r.cold = coldParts{symbols: symbols}
	for _, k := range runtimes.Registered {
		if k.Builtins != nil {
			r.builtins = append(r.builtins, k.Builtins(f, symbols))
		}
	}
	r.code = heuristics.New(heuristics.Options{Arch: f.Arch(), Code: fileCode{f}, Funcs: r, Entry: f.Entry})
	r.arch, r.sources = f.Arch(), append(r.sources, r)
}

func (r *fileRules) add(s interface {
	frames.RuleSource
	heuristics.Functions
}) {
	r.sources = append(r.sources, s)
	r.bounds = append(r.bounds, s)
}

// Table returns the table of a language's functions, or nil. Not safe for concurrent use.
func (img *Image) Table() managed.FileTable {
	r := img.lockRules()
	defer img.mu.Unlock()
	return r.table
}

// FuncRange implements heuristics.Functions.
func (r *fileRules) FuncRange(pc frames.ModuleAddr) (start, end frames.ModuleAddr, ok bool) {
	for _, b := range r.bounds {
		if start, end, ok = b.FuncRange(pc); ok {
			return start, end, ok
		}
	}
	return 0, 0, false
}

// Parent implements heuristics.Parts.
func (r *fileRules) Parent(start frames.ModuleAddr) (lo, hi frames.ModuleAddr, ok bool) {
	return r.cold.Parent(start)
}

// SavesFPOnly implements heuristics.Conventions.
func (r *fileRules) SavesFPOnly(pc frames.ModuleAddr) bool {
	return slices.ContainsFunc(r.builtins, func(b managed.Builtins) bool { return b.SavesFPOnly(pc) })
}

// Rule implements [frames.RuleSource].
func (r *fileRules) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.AfterCall && !q.SPOnly {
		if b := r.builtinsAt(q.PC); b != nil {
			if _, called := r.code.CallBefore(q.PC); !called {
				return b.Rule(r.arch)
			}
		}
	}
	return r.code.Rule(q)
}

// CallBefore implements [frames.CallSites]. A builtin that is returned into counts as called.
func (r *fileRules) CallBefore(ret frames.ModuleAddr) (frames.Call, bool) {
	if call, ok := r.code.CallBefore(ret); ok {
		return call, ok
	}
	return frames.Call{}, r.builtinsAt(ret) != nil
}

// builtinsAt returns the builtins with a function at pc that is returned into, or nil.
func (r *fileRules) builtinsAt(pc frames.ModuleAddr) managed.Builtins {
	start, ok := r.code.FuncStart(pc)
	if !ok || start != pc {
		return nil
	}
	if i := slices.IndexFunc(r.builtins, func(b managed.Builtins) bool { return b.Continues(pc) }); i >= 0 {
		return r.builtins[i]
	}
	return nil
}
