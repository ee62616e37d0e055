// SPDX-License-Identifier: Apache-2.0

package code

import (
	"prywalk/dwarfunwind"
	"prywalk/frames"
	"prywalk/internal/elffile"
	"prywalk/internal/runtimes/golang"
)

// addCFI takes a file's call frame information, if it has any.
func (p *parts) addCFI(f *elffile.File) {
	hdr, frame := f.EhFrame()
	cfg := dwarfunwind.Config{Arch: f.Arch(), EhFrameHdr: section(hdr), EhFrame: section(frame)}
	if p.goTable == nil { // Go's table says the same, and is at hand
		debug, _ := f.Window(f.DebugSection("frame")) // nil if there is none
		cfg.DebugFrame = section(debug)
	}
	if s := f.Section(".text"); s != nil {
		cfg.Text = s.Addr
	}
	if s := f.Section(".got"); s != nil {
		cfg.GOT = s.Addr
	}
	t, err := dwarfunwind.New(cfg)
	if err != nil {
		return // none: the instructions have to do
	}
	p.sources = append(p.sources, t)
	p.bounds = append(p.bounds, t)
}

// section gives a window as dwarfunwind takes it.
func section(w *elffile.Window) dwarfunwind.Section {
	if w == nil {
		return dwarfunwind.Section{}
	}
	return dwarfunwind.Section{Addr: w.Addr(), Size: w.Size(), Data: w}
}

// maxDebugFrame bounds a .debug_frame outside of the image, in bytes, decompressed:
// four times what a large browser's would be.
const maxDebugFrame = 64 << 20

// moreCFI is call frame information that is not loaded with the code. It is .debug_frame of the separate debug file
// and of .gnu_debugdata (Android writes it there). In a Go program, whose own code its table describes, it is that
// of the C code linked into it. It is opened when code is met that nothing else describes.
type moreCFI struct {
	elf    *elffile.File
	from   *separate
	goes   *golang.Table
	tried  bool
	tables []*dwarfunwind.Table
}

// Rule implements [frames.RuleSource].
func (m *moreCFI) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if m.inGo(q.Lookup(m.elf.Arch())) {
		return frames.Rule{}, nil, false
	}
	for _, t := range m.all() {
		if r, row, ok := t.Rule(q); ok {
			return r, row, true
		}
	}
	return frames.Rule{}, nil, false
}

// FuncRange implements heuristics.Functions.
func (m *moreCFI) FuncRange(pc uint64) (start, end uint64, ok bool) {
	if m.inGo(pc) {
		return 0, 0, false
	}
	for _, t := range m.all() {
		if start, end, ok = t.FuncRange(pc); ok {
			return start, end, ok
		}
	}
	return 0, 0, false
}

// inGo reports whether Go's table describes the code at pc.
func (m *moreCFI) inGo(pc uint64) bool {
	if m.goes == nil {
		return false
	}
	_, _, ok := m.goes.FuncRange(pc)
	return ok
}

// all gives the tables, made at the first call.
func (m *moreCFI) all() []*dwarfunwind.Table {
	if m.tried {
		return m.tables
	}
	m.tried = true
	if m.goes != nil {
		m.add(m.elf)
	}
	for _, f := range m.from.all() {
		m.add(f)
	}
	return m.tables
}

// add takes the .debug_frame of a file, if it has one for this architecture.
func (m *moreCFI) add(f *elffile.File) {
	w, err := f.WindowUpTo(f.DebugSection("frame"), maxDebugFrame)
	if err != nil || f.Arch() != m.elf.Arch() {
		return
	}
	if t, err := dwarfunwind.New(dwarfunwind.Config{Arch: f.Arch(), DebugFrame: section(w)}); err == nil {
		m.tables = append(m.tables, t)
	}
}
