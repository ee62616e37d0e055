// SPDX-License-Identifier: Apache-2.0

package text

import (
	"path"
	"strings"

	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/show/dump/stacks"
)

// A note needs 1/largePart of the threads.
const largePart = 20

// Notes returns the ways to name functions without names, once each.
func Notes(p *stacks.Process) []string {
	program := p.Program
	program.Again = "dump again"
	var rows []unnamedcode.Row
	threads, last := map[unnamedcode.Row]int{}, map[unnamedcode.Row]int{} // number of threads; 1 + the last's index
	for i := range p.Threads {
		for k := range p.Threads[i].Frames {
			r, ok := tableRow(&p.Threads[i].Frames[k])
			switch {
			case !ok || last[r] == i+1:
				continue
			case last[r] == 0:
				rows = append(rows, r)
			}
			last[r] = i + 1
			threads[r]++
		}
	}
	for i := range rows {
		rows[i].Large = largePart*threads[rows[i]] >= len(p.Threads)
	}
	return program.Notes(rows)
}

// tableRow returns false for a frame without code, or not shown.
func tableRow(f *stacks.Frame) (r unnamedcode.Row, ok bool) {
	if f.Method == "" && f.Kind == "" || f.Machinery {
		return r, false
	}
	r.Name, r.Module = f.Function, f.Module
	if !strings.HasPrefix(r.Module, "[") && r.Module != "" {
		r.Module = path.Base(r.Module)
	}
	if f.Kind == "" {
		r.Nameless = r.Name == "" || r.Name == unnamedcode.Bracketed(r.Module) || unnamedcode.IsAddressName(r.Name, r.Module)
	}
	if r.Name == "" {
		r.Name = unnamedcode.Bracketed(r.Module)
	}
	return r, true
}
