package code

import (
	"path/filepath"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/elffile"
	"prywalk/internal/runtimes/hotspot"
)

// javaVM is the Java virtual machine of a process, if it has one: what knows the frames of its code.
type javaVM struct {
	lib   *frames.Module // libjvm.so, nil if there is none
	vm    *hotspot.VM    // nil if it does not describe itself
	code  *heuristics.Source
	tries int   // how often it was asked: while it is loaded, it cannot answer yet
	why   error // why it is not known
}

// maxVMTries bounds the questions to one that does not describe what is needed.
const maxVMTries = 8

// libjvm is the file that describes the code cache.
const libjvm = "libjvm.so"

// adopt looks for the machine among a process's modules. It is asked first of the code that it has made, in which
// the frame pointer proves nothing.
func (j *javaVM) adopt(o AddressSpace, code *heuristics.Source, mods []*frames.Module) {
	lib := findJVM(mods)
	if lib != j.lib {
		*j = javaVM{lib: lib}
	}
	if lib != nil && j.vm == nil && j.tries < maxVMTries {
		j.tries++
		j.code = code
		j.vm, j.why = openVM(o, lib, j.code)
	}
	if j.vm == nil {
		if lib != nil && j.tries == maxVMTries {
			doubtFP(mods)
		}
		return
	}
	if j.vm.Unknown() != nil {
		doubtFP(mods)
		return
	}
	for _, m := range mods {
		if m.Generated && !m.NoFP && j.vm.Contains(m.Start) {
			m.NoFP = true
			m.Sources = []frames.RuleSource{j, j.code, routines{j}}
		}
	}
}

// doubtFP keeps the frame pointer from being believed in all generated code: it cannot be told which of it the machine
// has made.
func doubtFP(mods []*frames.Module) {
	for _, m := range mods {
		m.NoFP = m.NoFP || m.Generated
	}
}

func findJVM(mods []*frames.Module) *frames.Module {
	for _, m := range mods {
		if filepath.Base(m.Name) == libjvm && elfImage(m) != nil {
			return m
		}
	}
	return nil
}

// elfImage gives the ELF file of a module, nil if it has none.
func elfImage(m *frames.Module) *Image {
	at, ok := m.Data.(*Mapping)
	if !ok {
		return nil
	}
	return at.Image
}

// openVM reads how the machine describes itself.
func openVM(o AddressSpace, lib *frames.Module, flow hotspot.Flow) (*hotspot.VM, error) {
	names := dynamicSymbols(elfImage(lib))
	return hotspot.New(hotspot.Options{
		Arch: elfImage(lib).ELF.Arch(),
		Symbol: func(name string) (uint64, bool) {
			addr, ok := names[name]
			return addr + lib.Bias, ok
		},
		Read:     func(addr uint64, b []byte) int { n, _ := o.ReadMem(addr, b); return n },
		ReadCode: o.ReadCode,
		Flow:     flow,
	})
}

// unknown gives why the machine's code is not read, nil if there is none or it is.
func (j *javaVM) unknown() error {
	if j.vm != nil {
		return j.vm.Unknown()
	}
	return j.why
}

// dynamicSymbols gives the objects that a library exports.
func dynamicSymbols(img *Image) map[string]uint64 {
	img.mu.Lock()
	defer img.mu.Unlock()
	out := map[string]uint64{}
	syms, _ := img.ELF.Symbols(elffile.DynSym) // what can be read of a damaged table
	defer img.ELF.FreeSymbols(syms)
	for i := range syms {
		if s := &syms[i]; s.Type() == elffile.SymObject && s.Section != elffile.SectionUndef {
			out[img.ELF.KeepName(elffile.DynSym, s)] = s.Value
		}
	}
	return out
}

// Rule implements frames.RuleSource.
func (j *javaVM) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if j.vm == nil {
		return frames.Rule{}, nil, false
	}
	if r, row, ok := j.vm.Rule(q); ok {
		return r, row, true
	}
	if pc, ok := j.vm.Behind(q); ok {
		r, row, ok := j.code.Rule(frames.Query{PC: pc})
		return r, row, ok && row == nil && r.CFAReg == frames.X86RBP
	}
	return frames.Rule{}, nil, false
}

// Describe names the piece of code that an address is in, for tests and measurements.
func (j *javaVM) Describe(pc uint64) string {
	if j.vm == nil {
		return ""
	}
	return j.vm.Describe(pc)
}

// routines answers where neither the machine's tables nor the instructions tell the whole frame.
type routines struct{ *javaVM }

// Rule implements frames.RuleSource.
func (r routines) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if r.vm == nil {
		return frames.Rule{}, nil, false
	}
	return r.vm.Routine(q)
}

// FuncRange implements heuristics.Functions.
func (j *javaVM) FuncRange(pc uint64) (start, end uint64, ok bool) {
	if j.vm == nil {
		return 0, 0, false
	}
	return j.vm.FuncRange(pc)
}

// changed reports whether rules that were given do not hold any more.
func (j *javaVM) changed() bool { return j.vm != nil && j.vm.Changed() }

// forget drops what is remembered of its code.
func (j *javaVM) forget() {
	if j.vm != nil {
		j.vm.Forget()
	}
}

// Names gives what names the machine's frames, nil if there is no machine that is known.
func (j *javaVM) Names() *hotspot.Names {
	if j.vm == nil {
		return nil
	}
	return j.vm.Names()
}
