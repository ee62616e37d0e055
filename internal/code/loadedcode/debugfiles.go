// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"io"

	"prywalk/internal/code/elffile"
	"prywalk/internal/host/safeopen"
)

type opener func(path string) (*safeopen.File, error)

// debugFiles is an image's debug file (build id or .gnu_debuglink) and .gnu_debugdata.
type debugFiles struct {
	elf   *elffile.File
	path  string
	open  opener // nil: no search
	files *filePool
	tried bool
	found []*elffile.File
	debug *elffile.DebugFile // the first of found, or nil
}

func (s *debugFiles) filesOrOpen() []*elffile.File {
	if s == nil {
		return nil
	}
	if s.tried {
		return s.found
	}
	s.tried = true
	if s.open != nil {
		s.debug = s.elf.OpenDebug(s.path, s.openInPool, func(error) {})
	}
	if s.debug != nil {
		s.found = append(s.found, s.debug.File)
	}
	if mini, err := s.elf.MiniDebug(); err == nil {
		s.found = append(s.found, mini)
	}
	return s.found
}

func (s *debugFiles) drop() {
	_ = s.debug.Close() // only read
	s.tried, s.found, s.debug = false, nil, nil
}

func (s *debugFiles) openInPool(path string) (io.ReaderAt, int64, error) {
	f, err := s.open(path)
	if err != nil {
		return nil, 0, err
	}
	return s.files.add(f), f.Size(), nil
}
