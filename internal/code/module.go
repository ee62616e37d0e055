// SPDX-License-Identifier: Apache-2.0

package code

import (
	"strings"

	"prywalk/frames"
	"prywalk/internal/elffile"
)

// NewModule makes the module of a new executable mapping. Of an ELF file only the
// headers are read now; its rule sources are made when the first rule is asked for. Code that
// was made at run time has none yet: see [Runtimes.Describe].
func NewModule(o AddressSpace, m *Mapping) *frames.Module {
	mod := &frames.Module{Start: m.Start, End: m.End, Name: moduleName(m), Origin: m}
	switch {
	case m.Path == "[vsyscall]":
		// Nobody executes there: the kernel emulates the calls.
	case m.Path == "[vdso]":
		bind(mod, m, o.Images().vdso(o, m))
	case m.Inode != 0:
		bind(mod, m, o.Image(m))
	default:
		m.JIT = true
	}
	return mod
}

// bind connects a module to its image; without one the code is taken for code that
// was made at run time.
func bind(mod *frames.Module, m *Mapping, img *Image) {
	if img == nil {
		m.JIT = true
		return
	}
	bias, ok := img.ELF.Bias(m.Start, m.Offset, true)
	if !ok {
		m.JIT = true
		return
	}
	m.Image = img
	img.use.met.Add(1)
	mod.Bias = bias
	mod.BuildID = img.BuildID
	mod.Sources, mod.Calls = img.lazy()
}

// moduleName gives the name that frames of a mapping show: the file's path, the
// kernel's name for it, or [anon].
func moduleName(m *Mapping) string {
	if m.Path == "" || strings.HasPrefix(m.Path, "/dev/zero") || m.Path == "//anon" {
		return "[anon]"
	}
	return m.Path
}

// FindCopies finds, among new code without a file, copies of a file's text at the file's own addresses. Node copies
// its text to huge pages and moves the copy over the original. What lies before it then still is a mapping of the
// file.
func FindCopies(o AddressSpace, bare []*frames.Module) {
	if len(bare) == 0 {
		return
	}
	var before RawMapping // the last mapping of a file
	_ = o.Mappings(func(m *RawMapping) {
		if m.Inode != 0 {
			before = *m
		}
		if len(bare) > 0 && m.Start == bare[0].Start {
			if before.Inode != 0 {
				adoptCopy(o, bare[0], &before)
			}
			bare = bare[1:]
		}
	}) // the text has been parsed before: no error can come
}

// adoptCopy binds a module to the image of a file if it is a copy of its text.
func adoptCopy(o AddressSpace, mod *frames.Module, before *RawMapping) {
	at := MappingOf(mod)
	file := before.Mapping
	file.Path, file.Deleted = before.name()
	img := o.Image(&file)
	if img == nil {
		return
	}
	bias, ok := img.ELF.Bias(file.Start, file.Offset, file.Perm&PermExec != 0)
	if !ok || !img.executable(at.Start-bias) || !copyOf(o, img, at, bias) {
		return
	}
	at.JIT, at.Image = false, img
	img.use.met.Add(1)
	mod.Name, mod.BuildID, mod.Bias = file.Path, img.BuildID, bias
	mod.Sources, mod.Calls = img.lazy()
}

// executable reports whether the file has code for that address.
func (img *Image) executable(addr uint64) bool {
	for i := range img.ELF.Segments {
		s := &img.ELF.Segments[i]
		if s.Type == elffile.SegLoad && s.Flags&elffile.SegExec != 0 && addr-s.VAddr&^0xfff < s.MemSize+s.VAddr&0xfff {
			return true
		}
	}
	return false
}

// copyOf reports whether the memory at m holds what the file has there. The start
// and the middle are compared.
func copyOf(o AddressSpace, img *Image, m *Mapping, bias uint64) bool {
	for _, at := range []uint64{m.Start, m.Start + (m.End-m.Start)/2&^0xfff} {
		var mem, file [256]byte
		if _, err := o.ReadMem(at, mem[:]); err != nil {
			return false
		}
		if img.ReadAddr(at-bias, file[:]) < len(file) || mem != file {
			return false
		}
	}
	return true
}
