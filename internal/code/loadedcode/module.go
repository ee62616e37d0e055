// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"debug/elf"
	"strings"

	"prywalk/frames"
)

// NewModule makes the module of an executable mapping. Code made at run time has no sources ([Runtimes.SetSources]).
func NewModule(o ImageFinder, m *Mapping) *frames.Module {
	mod := &frames.Module{Start: m.Start, End: m.End, Origin: m}
	switch {
	case m.Path == "[vsyscall]": // no sources: the kernel emulates its calls (vsyscall_64.c)
	case m.Path == "[vdso]":
		setImageSources(mod, m, o.Images().vdso(o, m))
	case m.Inode != 0:
		setImageSources(mod, m, o.Image(m))
	default:
		m.JIT = true
	}
	mod.Name = moduleName(m)
	return mod
}

func setImageSources(mod *frames.Module, m *Mapping, img *Image) {
	if img != nil {
		if bias, ok := img.ELF.Bias(m.Start, m.Offset, true); ok {
			img.attachTo(mod, m, bias)
			return
		}
	}
	m.JIT = true
}

func (img *Image) attachTo(mod *frames.Module, m *Mapping, bias uint64) {
	img.usage.modules.Add(1)
	m.Image, m.JIT = img, false
	mod.BuildID, mod.Bias, mod.Generated = img.BuildID, bias, false
	mod.Sources, mod.Calls = img.lazySources()
}

// moduleName knows perf's name of anonymous memory and the kernel's of huge pages (HUGETLB_ANON_FILE,
// include/linux/hugetlb.h).
func moduleName(m *Mapping) string {
	switch {
	case m.Path == "" || strings.HasPrefix(m.Path, "/dev/zero") || m.Path == "//anon" || m.Path == "/anon_hugepage":
		return "[anon]"
	case m.Image == nil && strings.HasPrefix(m.Path, "/memfd:"):
		return "[" + m.Path[1:] + "]"
	}
	return m.Path
}

// FindCopies finds anonymous copies of a file's text at its addresses (Node's huge pages).
func FindCopies(o AddressSpace, anonymous []*frames.Module) {
	if len(anonymous) == 0 {
		return
	}
	var before RawMapping
	_ = o.Mappings(func(m *RawMapping) {
		if m.Inode != 0 {
			before = *m
		}
		if len(anonymous) > 0 && m.Start == anonymous[0].Start {
			if before.Inode != 0 {
				adoptCopy(o, anonymous[0], &before)
			}
			anonymous = anonymous[1:]
		}
	})
}

func adoptCopy(o AddressSpace, mod *frames.Module, before *RawMapping) {
	at := MappingOf(mod)
	file := Mapping{MapsLine: before.MapsLine}
	file.Path, file.Deleted = before.name()
	img := o.Image(&file)
	if img == nil {
		return
	}
	bias, ok := img.ELF.Bias(file.Start, file.Offset, file.Perm&PermExec != 0)
	if !ok || !img.executable(at.Start-bias) || !isCopyOf(o, img, at, bias) {
		return
	}
	mod.Name = file.Path
	img.attachTo(mod, at, bias)
}

func (img *Image) executable(addr frames.ModuleAddr) bool {
	for i := range img.ELF.Segments {
		s := &img.ELF.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && addr-s.VAddr&^0xfff < s.MemSize+s.VAddr&0xfff {
			return true
		}
	}
	return false
}

func isCopyOf(o AddressSpace, img *Image, m *Mapping, bias uint64) bool {
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
