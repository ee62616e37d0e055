// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"cmp"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/safeopen"
)

// Mmap2Space is an address space from a list of executable mappings (PERF_RECORD_MMAP2). Not safe for concurrent use.
type Mmap2Space struct {
	maps  []Mapping
	first uint64 // of the first mapping listed: after an exec the program's
	cache *ImageCache
	files *TrustedFiles
	space *frames.Space
}

// Mmap2Space makes the space of mappings; a later one replaces those that it overlaps. Paths are of the mount namespace
// of process pid.
func (c *ImageCache) Mmap2Space(arch frames.Arch, maps []MapsLine, pid int) *Mmap2Space {
	s := &Mmap2Space{cache: c, files: &TrustedFiles{PID: pid}, space: frames.NewSpace(arch)}
	for _, m := range maps {
		if m.Start >= m.End {
			continue
		}
		s.maps = slices.DeleteFunc(s.maps, func(o Mapping) bool { return o.Start < m.End && m.Start < o.End })
		s.maps = append(s.maps, Mapping{MapsLine: m})
	}
	if len(maps) > 0 {
		s.first = maps[0].Start
	}
	slices.SortFunc(s.maps, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
	mods := make([]*frames.Module, len(s.maps))
	for i := range s.maps {
		m := &s.maps[i]
		mods[i] = NewModule(s, m)
		if m.Image == nil {
			m.JIT = false // origin unknown
		}
	}
	s.space.SetModules(mods)
	return s
}

// Program returns the file that the process runs, or false if it is unknown. Precondition: the list is complete since
// an exec, in order.
func (s *Mmap2Space) Program() (f ProgramFile, ok bool) {
	for i := range s.maps {
		if m := &s.maps[i]; m.Start == s.first && m.Image != nil && m.Inode != 0 {
			return ProgramFile{m.Dev, m.Inode, m.Image.BuildID}, true
		}
	}
	return ProgramFile{}, false
}

// Space returns the executable part of the address space.
func (s *Mmap2Space) Space() *frames.Space { return s.space }

// ReadMem implements ImageFinder for the vDSO, the same in all processes.
func (s *Mmap2Space) ReadMem(addr uint64, b []byte) (int, error) {
	i := slices.IndexFunc(s.maps, func(m Mapping) bool { return m.Path == "[vdso]" && m.Start <= addr && addr < m.End })
	if i < 0 || len(s.cache.vdsos) == 0 {
		return 0, procmem.ErrFault
	}
	n := copy(b, s.cache.vdsos[0].bytes[min(addr-s.maps[i].Start, uint64(len(s.cache.vdsos[0].bytes))):])
	if n < len(b) {
		return n, procmem.ErrFault
	}
	return n, nil
}

// Images implements ImageFinder.
func (s *Mmap2Space) Images() *ImageCache { return s.cache }

// Image implements ImageFinder. Device and inode must be equal: the path may lead to another file.
func (s *Mmap2Space) Image(m *Mapping) *Image {
	key := fileKey{m.Dev, m.Inode, m.Path}
	if img, ok := s.cache.current(key); ok {
		return img
	}
	if m.Inode == 0 || !strings.HasPrefix(m.Path, "/") {
		return nil
	}
	for _, way := range []safeopen.Request{s.files.requestInRoot(m.Path), {Path: m.Path}} {
		f, err := s.files.opener.Open(way)
		if err != nil {
			continue
		}
		if id := f.ID(); id.Dev != m.Dev || id.Inode != m.Inode {
			_ = f.Close()
			continue
		}
		img, err := s.cache.Load(f, m)
		s.cache.DebugFiles(img, s.files.Debug)
		if err == nil {
			s.cache.setName(key, img)
		}
		return img
	}
	return s.cache.byName[key] // gone, or with another number here (btrfs, overlayfs)
}
