// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"path"

	"prywalk/dwarfunwind"
	"prywalk/internal/elffile"
	"prywalk/internal/namehints"
)

// functionBounds is the call frame information of a stripped file.
type functionBounds struct {
	cfi   *dwarfunwind.Table
	tried bool
}

// boundedFrame names a function without symbol by its file address, "prog+0x1600". Files of distributions have debug
// packages instead.
func (t *Table) boundedFrame(addr uint64) (Frame, bool) {
	if t.opt.File == nil || t.opt.Path == "" || t.opt.Path[0] == '[' || namehints.Distribution(t.opt.Path) {
		return Frame{}, false
	}
	if t.opt.File.Section(".symtab") != nil { // not stripped: no function
		return Frame{}, false
	}
	b := &t.bounds
	if !b.tried {
		b.tried = true
		hdr, frame := t.opt.File.EhFrame()
		cfg := dwarfunwind.Config{Arch: t.opt.File.Arch(), EhFrameHdr: windowOf(hdr), EhFrame: windowOf(frame)}
		if s := t.opt.File.Section(".text"); s != nil {
			cfg.Text = s.Addr
		}
		if s := t.opt.File.Section(".got"); s != nil {
			cfg.GOT = s.Addr
		}
		b.cfi, _ = dwarfunwind.New(cfg) // nil: none
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

func windowOf(w *elffile.Window) dwarfunwind.Section {
	if w == nil {
		return dwarfunwind.Section{}
	}
	return dwarfunwind.Section{Addr: w.Addr(), Size: w.Size(), Data: w}
}
