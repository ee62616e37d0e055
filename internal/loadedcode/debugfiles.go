// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"prywalk/internal/elffile"
	"prywalk/internal/safeopen"
)

type opener func(path string) (*safeopen.File, error)

// debugFiles is an image's debug file (build id or .gnu_debuglink) and .gnu_debugdata, opened on first use.
type debugFiles struct {
	elf    *elffile.File
	path   string
	open   opener // nil: no search
	files  *filePool
	tried  bool
	found  []*elffile.File
	opened []*pooledFile
}

func (s *debugFiles) filesOrOpen() []*elffile.File {
	if s == nil || s.elf == nil || s.tried {
		return s.list()
	}
	s.tried = true
	if s.open != nil {
		for _, p := range s.elf.DebugPaths(s.path) {
			if f := s.openDebug(p); f != nil {
				s.found = append(s.found, f)
				break
			}
		}
	}
	if mini, err := s.elf.MiniDebug(); err == nil {
		s.found = append(s.found, mini)
	}
	return s.found
}

// drop closes the files until the next use.
func (s *debugFiles) drop() {
	for _, f := range s.found {
		if f.Memory() != s.elf.Memory() { // embedded ones share the image's
			f.Release()
		}
	}
	for _, h := range s.opened {
		s.files.drop(h)
	}
	s.tried, s.found, s.opened = false, nil, nil
}

func (s *debugFiles) list() []*elffile.File {
	if s == nil {
		return nil
	}
	return s.found
}

func (s *debugFiles) openDebug(path string) *elffile.File {
	f, err := s.open(path)
	if err != nil {
		return nil
	}
	h := s.files.add(f)
	debug, err := elffile.OpenIn(s.elf.Memory().Budget(), h, f.Size())
	if err == nil {
		debug.Memory().Rename(path)
		err = s.elf.CheckDebug(debug, h, f.Size())
	}
	if err != nil {
		debug.Release()
		s.files.drop(h)
		return nil
	}
	s.opened = append(s.opened, h)
	return debug
}
