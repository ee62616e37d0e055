package target

import (
	"prywalk/dwarfunwind"
	"prywalk/internal/elffile"
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
