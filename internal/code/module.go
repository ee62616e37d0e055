package code

import (
	"strings"

	"prywalk/frames"
	"prywalk/internal/elffile"
)

// module makes the module of a new executable mapping. Of an ELF file only the
// headers are read now; its rule sources are made when the first rule is asked for.
func module(o owner, m *Mapping) *frames.Module {
	mod := &frames.Module{Start: m.Start, End: m.End, Name: moduleName(m), Data: m}
	switch {
	case m.Path == "[vsyscall]":
		// Nobody executes there: the kernel emulates the calls.
	case m.Path == "[vdso]":
		bind(mod, m, o.images().vdso(o, m))
	case m.Inode != 0:
		bind(mod, m, o.image(m))
	default:
		m.JIT = true
	}
	if m.JIT && !m.Withheld {
		makeJIT(o, mod)
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

// remapped finds, among new code without a file, copies of a file's text at the
// file's own addresses: Node copies its text to huge pages and moves the copy over
// the original. What lies before it then still is a mapping of the file.
func remapped(o owner, bare []*mapped) {
	if len(bare) == 0 {
		return
	}
	var before rawMapping // the last mapping of a file
	_ = o.mappings(func(m *rawMapping) {
		if m.Inode != 0 {
			before = *m
		}
		if len(bare) > 0 && m.Start == bare[0].at.Start {
			if before.Inode != 0 {
				adoptCopy(o, bare[0], &before)
			}
			bare = bare[1:]
		}
	}) // the text has been parsed before: no error can come
}

// adoptCopy binds a module to the image of a file if it is a copy of its text.
func adoptCopy(o owner, c *mapped, before *rawMapping) {
	file := before.Mapping
	file.Path, file.Deleted = before.name()
	img := o.image(&file)
	if img == nil {
		return
	}
	bias, ok := img.ELF.Bias(file.Start, file.Offset, file.Perm&PermExec != 0)
	if !ok || !img.executable(c.at.Start-bias) || !copyOf(o, img, c.at, bias) {
		return
	}
	c.at.JIT, c.at.Image = false, img
	c.mod.Name, c.mod.BuildID, c.mod.Bias = file.Path, img.BuildID, bias
	c.mod.Sources, c.mod.Calls = img.lazy()
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
func copyOf(o owner, img *Image, m *Mapping, bias uint64) bool {
	for _, at := range []uint64{m.Start, m.Start + (m.End-m.Start)/2&^0xfff} {
		var mem, file [256]byte
		if _, err := o.readMem(at, mem[:]); err != nil {
			return false
		}
		if img.readAddr(at-bias, file[:]) < len(file) || mem != file {
			return false
		}
	}
	return true
}
