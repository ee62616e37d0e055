package code

import (
	"prywalk/internal/elffile"
	"prywalk/internal/stranger"
)

// opener opens a file by its path as the process sees it.
type opener func(path string) (*stranger.File, error)

// separate are the files that tell more of an image than it does itself: its debug
// file, found by build id or by .gnu_debuglink, and the small one that it embeds
// (.gnu_debugdata). They are opened at the first question that the image has no
// answer to, and never if there is none: most programs are walked without them.
type separate struct {
	elf   *elffile.File
	path  string
	open  opener // nil: no debug file is looked for
	files *filePool
	tried bool
	found []*elffile.File
}

// all gives them, the debug file first.
func (s *separate) all() []*elffile.File {
	if s == nil || s.elf == nil || s.tried {
		return s.list()
	}
	s.tried = true
	if s.open != nil {
		for _, p := range s.elf.DebugPaths(s.path) {
			if f := s.try(p); f != nil {
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

func (s *separate) list() []*elffile.File {
	if s == nil {
		return nil
	}
	return s.found
}

// try opens a debug file; nil if it is not there or belongs to another build.
func (s *separate) try(path string) *elffile.File {
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
	return debug
}
