// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"debug/elf"
	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
)

// firstFrames finds threads' first functions, for tools without names.
type firstFrames struct {
	proc  *loadedcode.Process
	namer *symbols.Namer
	known map[place]bool
}

type place struct {
	path   string
	offset uint64
	caller bool
}

func openFirstFrames(pid int) (*firstFrames, error) {
	proc, err := loadedcode.Open(pid)
	if err != nil {
		return nil, err
	}
	return &firstFrames{proc: proc, namer: symbols.NewNamer(), known: map[place]bool{}}, nil
}

func (f *firstFrames) close() {
	_ = f.namer.Close()
	f.proc.Close()
}

func (f *firstFrames) at(path string, offset uint64, caller bool) bool {
	p := place{path, offset, caller}
	is, known := f.known[p]
	if !known {
		is = f.find(p)
		f.known[p] = is
	}
	return is
}

func (f *firstFrames) find(p place) bool {
	for _, m := range f.proc.Space().Modules() {
		mapping := loadedcode.MappingOf(m)
		if mapping == nil || mapping.Image == nil || m.Name != p.path {
			continue
		}
		pc := lowest(mapping.Image.ELF) + p.offset
		if at := pc + m.Bias; at >= m.Start && at < m.End {
			return f.first(m, pc, p.caller)
		}
	}
	return false
}

// lowest is the file's own address of its first mapping (gABI chapter 5, "Base Address").
func lowest(file *elffile.File) uint64 {
	low := ^uint64(0)
	for i := range file.Segments {
		if s := &file.Segments[i]; s.Type == elf.PT_LOAD {
			low = min(low, s.VAddr)
		}
	}
	return low
}

// first uses the rule that ends prywalk's walk if a function has no name.
func (f *firstFrames) first(m *frames.Module, pc uint64, caller bool) bool {
	if functions := f.namer.Frames(m, f.proc.PID, pc, nil); len(functions) > 0 {
		return IsRoot(functions[len(functions)-1].System)
	}
	q := frames.Query{PC: pc, AfterCall: caller}
	if caller {
		q.PC++ // tools subtract one from return addresses
	}
	for _, source := range m.Sources {
		if rule, _, ok := source.Rule(q); ok {
			return rule.Flags&frames.FlagRoot != 0
		}
	}
	return false
}
