// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"io"

	"prywalk/dwarfunwind"
	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/host/safeopen"
	"prywalk/internal/walk/managed"
)

// CFI returns the table of .eh_frame, with debugFrame also of .debug_frame, or nil.
func CFI(f *elffile.File, debugFrame bool) *dwarfunwind.Table {
	hdr, frame := f.EhFrame()
	cfg := dwarfunwind.Config{Arch: f.Arch(), EhFrameHdr: sectionOf(hdr), EhFrame: sectionOf(frame)}
	if debugFrame {
		debug, _ := f.WindowUpTo(f.DebugSection("frame"), maxDebugFrame)
		cfg.DebugFrame = sectionOf(debug)
	}
	cfg.Reserve = reserveIn(f)
	t, _ := dwarfunwind.New(cfg)
	return t
}

func reserveIn(f *elffile.File) func(bytes int64) bool {
	return func(bytes int64) bool { return f.Memory().Take(bytes, "index of call frame information") == nil }
}

func sectionOf(w *elffile.Window) dwarfunwind.Section {
	if w == nil {
		return dwarfunwind.Section{}
	}
	return dwarfunwind.Section{Addr: w.Addr(), Size: w.Size(), Data: w}
}

const maxDebugFrame = 64 << 20 // bytes

// debugCFI is of debug files. With a language's table it is for code outside of that, and includes .debug_frame.
type debugCFI struct {
	symbols *fileSymbols
	table   managed.FileTable // or nil
	tried   bool
	tables  []*dwarfunwind.Table
}

// Rule implements [frames.RuleSource].
func (d *debugCFI) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if d.inTable(q.LookupPC(d.symbols.elf.Arch())) {
		return frames.Rule{}, nil, false
	}
	for _, t := range d.openTables() {
		if r, row, ok := t.Rule(q); ok {
			return r, row, true
		}
	}
	return frames.Rule{}, nil, false
}

// FuncRange implements heuristics.Functions.
func (d *debugCFI) FuncRange(pc frames.ModuleAddr) (start, end frames.ModuleAddr, ok bool) {
	if d.inTable(pc) {
		return 0, 0, false
	}
	for _, t := range d.openTables() {
		if start, end, ok = t.FuncRange(pc); ok {
			return start, end, ok
		}
	}
	return 0, 0, false
}

func (d *debugCFI) inTable(pc frames.ModuleAddr) bool {
	if d.table == nil {
		return false
	}
	_, _, ok := d.table.FuncRange(pc)
	return ok
}

func (d *debugCFI) openTables() []*dwarfunwind.Table {
	if d.tried {
		return d.tables
	}
	d.tried = true
	if d.table != nil {
		d.add(d.symbols.elf)
	}
	for _, f := range d.symbols.from.filesOrOpen() {
		d.add(f)
	}
	return d.tables
}

func (d *debugCFI) add(f *elffile.File) {
	w, err := f.WindowUpTo(f.DebugSection("frame"), maxDebugFrame)
	if err != nil || f.Arch() != d.symbols.elf.Arch() {
		return
	}
	cfg := dwarfunwind.Config{Arch: f.Arch(), DebugFrame: sectionOf(w), Reserve: reserveIn(f)}
	if t, err := dwarfunwind.New(cfg); err == nil {
		d.tables = append(d.tables, t)
	}
}

type opener func(path string) (*safeopen.File, error)

// debugFiles is an image's debug file (build id or .gnu_debuglink) and .gnu_debugdata.
type debugFiles struct {
	elf   *elffile.File
	path  string
	open  opener // nil means no search
	files *filePool
	tried bool
	found []*elffile.File
	debug *elffile.DebugFile // the first of found, or nil
}

func (s *debugFiles) filesOrOpen() []*elffile.File {
	if s == nil {
		return nil
	}
	if s.tried {
		return s.found
	}
	s.tried = true
	if s.open != nil {
		s.debug = s.elf.OpenDebug(s.path, s.openInPool, func(error) {})
	}
	if s.debug != nil {
		s.found = append(s.found, s.debug.File)
	}
	if mini, err := s.elf.MiniDebug(); err == nil {
		s.found = append(s.found, mini)
	}
	return s.found
}

func (s *debugFiles) drop() {
	_ = s.debug.Close() // only read
	s.tried, s.found, s.debug = false, nil, nil
}

func (s *debugFiles) openInPool(path string) (io.ReaderAt, int64, error) {
	f, err := s.open(path)
	if err != nil {
		return nil, 0, err
	}
	return s.files.add(f), f.Size(), nil
}
