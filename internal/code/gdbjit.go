package code

import (
	"prywalk/frames"
	"prywalk/internal/elffile"
	"prywalk/internal/runtimes/gdbjit"
)

// selfDescribed is the code of a process that describes itself to debuggers (GDB's JIT interface), if there is any.
// The bounds of its functions are not for the analysis of instructions: PostgreSQL makes new code at old addresses
// many times a second, and the bounds of old code break the analysis of the new one (0.6 % of its stacks).
type selfDescribed struct {
	code *gdbjit.Code // nil if no module has a list
}

// The variable that leads to a list, and its size in bytes (GDB manual, "JIT Compilation Interface").
const (
	jitDescriptor     = "__jit_debug_descriptor"
	jitDescriptorSize = 24
)

// adopt looks for lists among a process's modules, if it has code without a file. They are asked before the
// instructions of such code.
func (d *selfDescribed) adopt(o AddressSpace, r *Runtimes, mods []*frames.Module) {
	var made []*frames.Module
	for _, m := range mods {
		if m.Generated && !m.NoFP {
			made = append(made, m)
		}
	}
	if len(made) == 0 && d.code == nil {
		return
	}
	var lists []uint64
	for _, m := range mods {
		if img := elfImage(m); img != nil {
			for _, at := range img.jitDescriptors() {
				lists = append(lists, at+m.Bias)
			}
		}
	}
	if d.code == nil && len(lists) == 0 {
		return
	}
	d.follow(o, r.arch, lists)
	for _, m := range made {
		m.Sources = []frames.RuleSource{d.code, r.code}
		if at, ok := m.Data.(*Mapping); ok {
			at.Names = d.code
		}
	}
}

// follow reads those lists and no others.
func (d *selfDescribed) follow(o AddressSpace, arch frames.Arch, lists []uint64) {
	if d.code == nil {
		d.code = gdbjit.New(gdbjit.Options{
			Arch: arch,
			Read: func(addr uint64, b []byte) int { n, _ := o.ReadMem(addr, b); return n },
		})
	}
	d.code.Follow(lists)
	d.code.Refresh()
}

// changed reports whether rules that were given do not hold any more.
func (d *selfDescribed) changed() bool { return d.code != nil && d.code.Refresh() }

// jitDescriptors gives the addresses of the variables that lead to lists, looked for once.
func (img *Image) jitDescriptors() []uint64 {
	img.mu.Lock()
	defer img.mu.Unlock()
	if img.jitKnown {
		return img.jitLists
	}
	img.jitKnown = true
	kind := elffile.DynSym
	if img.ELF.HasSymbols(elffile.SymTab) {
		kind = elffile.SymTab
	}
	syms, _ := img.ELF.Symbols(kind) // what can be read of a damaged table
	for i := range syms {
		s := &syms[i]
		if s.Type() == elffile.SymObject && s.Size == jitDescriptorSize && s.Section != elffile.SectionUndef &&
			img.ELF.SymbolName(kind, s) == jitDescriptor {
			img.jitLists = append(img.jitLists, s.Value)
		}
	}
	return img.jitLists
}
