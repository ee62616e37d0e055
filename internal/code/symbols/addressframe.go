// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"path"

	"prywalk/dwarfunwind"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/unnamedcode"
)

type functionBounds struct {
	cfi   *dwarfunwind.Table
	tried bool
}

// addressFrame names a function of a file without .symtab by its address, "prog+0x1600", unless a distribution
// installed the file: for those there are debug packages.
func (t *Table) addressFrame(addr uint64) (Frame, bool) {
	if t.opt.File == nil || t.opt.Path == "" || t.opt.Path[0] == '[' || unnamedcode.IsFromDistribution(t.opt.Path) {
		return Frame{}, false
	}
	if t.opt.File.Section(".symtab") != nil { // not stripped: no function
		return Frame{}, false
	}
	b := &t.bounds
	if !b.tried {
		b.tried = true
		b.cfi = loadedcode.CFI(t.opt.File, false)
	}
	if b.cfi == nil {
		return Frame{}, false
	}
	start, _, ok := b.cfi.FuncRange(addr)
	if !ok {
		return Frame{}, false
	}
	return Frame{Name: fmt.Sprintf("%s+%#x", path.Base(t.opt.Path), start)}, true
}
