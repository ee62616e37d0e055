// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/code/unnamedcode"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// FrameTable numbers a profile's frames.
type FrameTable struct {
	Frames []Frame
	index  map[Frame]int32
	byLoc  map[*profile.Location][]int32
	buf    []int32
	lines  bool
	memory *Memory
}

// NewFrameTable returns an empty table for profiles that this process makes, without a limit of memory.
func NewFrameTable() *FrameTable { return newFrameTable(&Memory{}, false) }

func newFrameTable(memory *Memory, lines bool) *FrameTable {
	return &FrameTable{index: map[Frame]int32{}, byLoc: map[*profile.Location][]int32{}, lines: lines, memory: memory}
}

func (t *FrameTable) clone() *FrameTable {
	return &FrameTable{Frames: slices.Clone(t.Frames), index: maps.Clone(t.index), byLoc: maps.Clone(t.byLoc),
		lines: t.lines, memory: t.memory}
}

// WithLines returns an empty table that distinguishes lines ([Options].Lines). Its stacks have the same frames.
func (t *FrameTable) WithLines() *FrameTable {
	return newFrameTable(t.memory, true)
}

// Stack returns a sample's frames, at least one, innermost first; valid until the next call.
func (t *FrameTable) Stack(s *profile.Sample) []int32 {
	t.buf = t.buf[:0]
	for _, l := range s.Location {
		if t.memory.err != nil {
			t.buf = t.buf[:0]
			break
		}
		fs, ok := t.byLoc[l]
		if !ok {
			fs = t.framesOf(l)
			t.byLoc[l] = fs
		}
		if need := len(t.buf) + len(fs); need > cap(t.buf) && !t.memory.Take(8*int64(need)) { // append doubles
			continue
		}
		t.buf = append(t.buf, fs...)
	}
	if len(t.buf) == 0 {
		t.buf = append(t.buf, t.FrameIndex(Frame{Name: "[no stack]"}))
	}
	return t.buf
}

func (t *FrameTable) framesOf(l *profile.Location) []int32 {
	file := ""
	if l.Mapping != nil {
		file = l.Mapping.File
	}
	if !t.memory.Take(8 * int64(len(l.Line))) {
		return nil
	}
	var fs []int32
	for _, ln := range l.Line {
		name := functionName(&ln)
		if name == "" {
			continue
		}
		f := frameOf(name, file, ln.Function.Filename)
		if t.lines {
			f.File, f.Line = ln.Function.Filename, int(ln.Line)
		}
		fs = append(fs, t.FrameIndex(f))
	}
	if len(fs) == 0 {
		module := ModuleName(file)
		f := Frame{Name: unnamedcode.Bracketed(module), Module: module, Nameless: true,
			Library: waits.IsLibrary(waits.Frame{Module: module})}
		if t.lines {
			f.Name = fmt.Sprintf("%#x %s", fileOffset(l), f.Name)
		}
		fs = append(fs, t.FrameIndex(f))
	}
	return fs
}

// libc are the files of glibc (until 2.33 with its release) and musl.
var libc = regexp.MustCompile(`^(libc(-\d[\d.]*)?\.so|libc\.musl-|ld-musl-)`)

// frameOf returns a named function's frame. file is the mapping's, source the function's.
func frameOf(name, file, source string) Frame {
	f := Frame{Name: name, Module: ModuleName(file), Script: file != "" && unnamedcode.IsScript(file),
		Library: waits.IsLibrary(waits.Frame{Function: name, Module: file, File: source}),
		LibC:    libc.MatchString(ModuleName(file)), Installed: languages.IsInstalled(name, file, source)}
	// so do recordings name code without a function
	f.Nameless = f.Module != "" && name == unnamedcode.Bracketed(f.Module) || unnamedcode.IsAddressName(name, f.Module)
	if !f.Nameless {
		f.setModule(file, source)
	}
	return f
}

func functionName(ln *profile.Line) string {
	if ln.Function == nil {
		return ""
	}
	return cmp.Or(ln.Function.Name, ln.Function.SystemName)
}

func fileOffset(l *profile.Location) uint64 {
	if m := l.Mapping; m != nil && m.File != "" && l.Address >= m.Start && l.Address < m.Limit {
		return l.Address - m.Start + m.Offset
	}
	return l.Address
}

// ModuleName returns the base name of a path; names in brackets stay.
func ModuleName(file string) string {
	if file == "" || file[0] == '[' {
		return file
	}
	return filepath.Base(file)
}

// FrameIndex returns the number of a frame.
func (t *FrameTable) FrameIndex(f Frame) int32 {
	if n, ok := t.index[f]; ok {
		return n
	}
	t.memory.Take(frameCost)
	return rec.NumberIn(&t.Frames, t.index, f)
}

// Place is a function's place in the source.
type Place struct {
	File string
	Line int
}

// Places returns each frame's source file and first line.
func (d *Data) Places() map[int32]Place {
	places := map[int32]Place{}
	for _, l := range d.Profile.Location {
		fs := d.Table.byLoc[l]
		if len(fs) == 0 { // no sample, or memory was refused
			continue
		}
		i := 0
		for _, ln := range l.Line {
			if functionName(&ln) == "" {
				continue
			}
			if places[fs[i]].File == "" {
				places[fs[i]] = Place{ln.Function.Filename, int(cmp.Or(ln.Function.StartLine, ln.Line))}
			}
			i++
		}
	}
	return places
}
