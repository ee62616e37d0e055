// SPDX-License-Identifier: Apache-2.0

// Package profilenames names a finished profile's locations from unstripped ELF files or debug files.
//
// # Algorithm
//
// A file belongs to the mappings with its GNU build id; without any it is refused. A location's file address is its
// address less the mapping's load bias, by the mapped segment (System V gABI, "Program Header"). In a file with debug
// information only, segments have lost their offsets (objcopy --only-keep-debug), and the mapping is compared with
// their addresses.
package profilenames

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/code/elffile"
	"prywalk/internal/code/symbols"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/host/safeopen"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/runtimes"
)

// errNoMatch means a file of no mapping of the profile.
var errNoMatch = errors.New("no mapping of the recording has its build id")

// AddFrom names the locations in mappings of the ELF file at path.
func AddFrom(p *profile.Profile, path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	var opener safeopen.Opener
	r, err := opener.Open(safeopen.Request{Path: abs})
	if err != nil {
		return fmt.Errorf("%w; give an ELF file, the program with its symbols or its debug file", err)
	}
	defer func() { _ = r.Close() }() // only read
	f, err := elffile.Open(r, r.Size())
	if err != nil {
		return fmt.Errorf("%s: %w; give an ELF file, the program with its symbols or its debug file", path, err)
	}
	defer f.Release()
	o := symbols.Sources{File: f, Path: abs, Language: runtimes.TableOf(f)}
	o.Open = func(name string) (io.ReaderAt, int64, error) {
		d, err := opener.Open(safeopen.Request{Path: name})
		if err != nil {
			return nil, 0, err
		}
		return d, d.Size(), nil
	}
	t := symbols.New(o)
	named, err := nameLocations(p, path, f, t)
	err = errors.Join(err, t.Close())
	if warnings := t.Warnings(); err == nil && named == 0 && len(warnings) > 0 {
		err = warnings[0]
	}
	if err == nil && named == 0 {
		err = errors.New("it has no symbol at any address of the recording: give the file before strip, " +
			"or its debug file")
	}
	if err != nil && !errors.Is(err, errNoMatch) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

func nameLocations(p *profile.Profile, path string, f *elffile.File, t *symbols.Table) (named int, err error) {
	id := f.BuildID()
	if id == "" {
		return 0, errors.New("it has no GNU build id, so that it cannot be matched with a recording; " +
			"link the program with -Wl,--build-id and record again")
	}
	biases := map[*profile.Mapping]uint64{}
	for _, m := range p.Mapping {
		if !strings.EqualFold(m.BuildID, id) {
			continue
		}
		if bias, ok := biasOf(f, m); ok {
			biases[m] = bias
		}
	}
	if len(biases) == 0 {
		return 0, noMatchError(p, path, id)
	}
	n := namer{profile: p, file: filepath.Base(path), functions: map[profile.Function]*profile.Function{}}
	for _, l := range p.Location {
		bias, ok := biases[l.Mapping]
		if ok && n.name(l, t, l.Address-bias) {
			named++
		}
	}
	return named, nil
}

// The shown build id is of the mapping with the file's name, else of the program.
func noMatchError(p *profile.Profile, path, id string) error {
	base := strings.TrimSuffix(filepath.Base(path), ".debug")
	at := slices.IndexFunc(p.Mapping, func(m *profile.Mapping) bool { return filepath.Base(m.File) == base })
	if at < 0 {
		at = slices.IndexFunc(p.Mapping, func(m *profile.Mapping) bool { return m.File != "" })
	}
	if at < 0 {
		return fmt.Errorf("%w: %s has %s; the recording has no mappings", errNoMatch, path, id)
	}
	m := p.Mapping[at]
	return fmt.Errorf("%w: %s has %s, %s of the recording has %s; give the file of the build that was recorded",
		errNoMatch, path, id, m.File, cmp.Or(m.BuildID, "none"))
}

type namer struct {
	profile   *profile.Profile
	file      string
	functions map[profile.Function]*profile.Function
	frames    []symbols.Frame
	last      uint64
}

func (n *namer) name(l *profile.Location, t *symbols.Table, addr uint64) bool {
	n.frames = t.Frames(addr, n.frames[:0])
	if len(n.frames) == 0 || unnamedcode.IsAddressName(n.frames[0].Name, n.file) {
		return false
	}
	machinery := slices.ContainsFunc(l.Line, func(ln profile.Line) bool {
		return ln.Function != nil && rec.FrameType(ln.Function.Name, ln.Function.SystemName) == rec.Machinery
	})
	l.Line = l.Line[:0:0]
	for _, f := range n.frames {
		system := cmp.Or(f.System, f.Name)
		if machinery {
			system = rec.SystemNameOfType(system, rec.Machinery)
		}
		l.Line = append(l.Line, profile.Line{Line: int64(f.Line), Function: n.function(profile.Function{
			Name: f.Name, SystemName: system, Filename: f.File, StartLine: int64(f.StartLine),
		})})
	}
	m := l.Mapping
	m.HasFunctions = true
	m.HasFilenames, m.HasLineNumbers = m.HasFilenames || n.frames[0].File != "", m.HasLineNumbers || n.frames[0].Line > 0
	m.HasInlineFrames = m.HasInlineFrames || len(n.frames) > 1
	return true
}

func (n *namer) function(f profile.Function) *profile.Function {
	if known := n.functions[f]; known != nil {
		return known
	}
	if n.last == 0 {
		for _, f := range n.profile.Function {
			n.last = max(n.last, f.ID)
		}
	}
	n.last++
	made := f
	made.ID = n.last
	n.functions[f] = &made
	n.profile.Function = append(n.profile.Function, &made)
	return &made
}

const page = 4 << 10

func biasOf(f *elffile.File, m *profile.Mapping) (uint64, bool) {
	if bias, ok := f.Bias(m.Start, m.Offset, true); ok {
		return bias, true
	}
	var within *elffile.Segment
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != elf.PT_LOAD || s.MemSize == 0 {
			continue
		}
		first, end := s.VAddr&^(page-1), (s.VAddr+s.MemSize+page-1)&^(page-1)
		if s.Flags&elf.PF_X != 0 && m.Limit-m.Start == end-first {
			return m.Start - first, true
		}
		if m.Offset >= first && m.Offset < end {
			within = s // in the original, file offsets are addresses, as with GNU ld
		}
	}
	if within == nil {
		return 0, false
	}
	return m.Start - m.Offset, true
}
