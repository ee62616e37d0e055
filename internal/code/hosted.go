package code

import (
	"prywalk/frames"
	"prywalk/internal/elffile"
	"prywalk/internal/runtimes/hosted"
)

// hostedCode is the code that runtimes make which do not describe it, if a process has one of those that are known.
type hostedCode struct {
	lib     *frames.Module // the runtime's library or program
	runtime hosted.Runtime // nil if there is none, or one that is other than those known
	asked   bool
}

// adopt looks for a runtime among a process's modules, if it has code without a file that nobody describes.
func (h *hostedCode) adopt(o AddressSpace, arch frames.Arch, mods []*frames.Module) {
	var made []*frames.Module
	for _, m := range mods {
		if m.Generated && !m.NoFP {
			made = append(made, m)
		}
	}
	if len(made) == 0 {
		return
	}
	lib, kind, entry := findRuntime(mods)
	if lib != h.lib {
		*h = hostedCode{lib: lib}
	}
	if lib == nil {
		return
	}
	if h.runtime == nil && !h.asked {
		h.asked = true
		h.runtime = hosted.New(kind, lib, hosted.Options{
			Arch:    arch,
			Read:    func(addr uint64, b []byte) int { n, _ := o.ReadMem(addr, b); return n },
			Entry:   entry,
			Modules: mods,
		})
		if own := h.own(); own != nil {
			lib.Sources = append([]frames.RuleSource{own}, lib.Sources...)
		}
	}
	if h.runtime == nil {
		return
	}
	h.runtime.Update(mods)
	for _, m := range made {
		if h.runtime.Owns(m) {
			h.give(m)
		}
	}
}

// own gives what is asked first of the runtime's own code, nil if nothing is.
func (h *hostedCode) own() frames.RuleSource {
	if h.runtime == nil {
		return nil
	}
	return h.runtime.Own()
}

// give has the runtime asked of a module's code.
func (h *hostedCode) give(m *frames.Module) {
	if first := h.runtime.First(); first != nil {
		m.Sources = append([]frames.RuleSource{first}, m.Sources...)
	}
	if last := h.runtime.Last(); last != nil {
		m.Sources = append(m.Sources, last)
	}
	m.NoFP = true
}

// findRuntime gives the module that has the code of a runtime, and where it is entered.
func findRuntime(mods []*frames.Module) (*frames.Module, hosted.Kind, uint64) {
	for _, m := range mods {
		if img := elfImage(m); img != nil {
			kind, entry := img.runtimeKind()
			if entry != 0 {
				entry += m.Bias
			}
			if kind != hosted.None {
				return m, kind, entry
			}
		}
	}
	return nil, hosted.None, 0
}

// runtimeKind gives the runtime whose symbols a file exports, and the address of its entry in the file's terms. They are
// looked for once.
func (img *Image) runtimeKind() (kind hosted.Kind, entry uint64) {
	img.mu.Lock()
	defer img.mu.Unlock()
	if !img.kindKnown {
		img.kindKnown = true
		syms, _ := img.ELF.Symbols(elffile.DynSym) // what can be read of a damaged table
		defer img.ELF.FreeSymbols(syms)
		img.eachFunction(syms, func(name string, _ uint64) bool {
			img.kind = hosted.Marked(name)
			return img.kind != hosted.None
		})
		if img.kind.Entry() != "" {
			img.eachFunction(syms, func(name string, addr uint64) bool {
				found := name == img.kind.Entry()
				if found {
					img.entry = addr
				}
				return found
			})
		}
	}
	return img.kind, img.entry
}

// eachFunction calls f with each function that a file exports, until f says that it is the last.
func (img *Image) eachFunction(syms []elffile.Symbol, f func(name string, addr uint64) (last bool)) {
	for i := range syms {
		s := &syms[i]
		if s.Type() == elffile.SymFunc && s.Section != elffile.SectionUndef && f(img.ELF.SymbolName(elffile.DynSym, s), s.Value) {
			return
		}
	}
}
