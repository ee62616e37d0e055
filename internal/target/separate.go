package target

import (
	"os"

	"prywalk/internal/elffile"
)

// opener opens a file by its path as the process sees it.
type opener func(path string) (*os.File, error)

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
	id, err := identify(f)
	if err != nil {
		_ = f.Close() // it was not even read
		return nil
	}
	h := s.files.add(f, id)
	debug, err := elffile.OpenIn(s.elf.Memory().Budget(), h, id.size)
	if err == nil {
		debug.Memory().Rename(path)
		err = s.elf.CheckDebug(debug, h, id.size)
	}
	if err != nil {
		debug.Release()
		s.files.drop(h)
		return nil
	}
	return debug
}

// openDebug opens a debug file of a live process: below its root directory, or where
// it runs in a container that has none, on this machine. The build id or checksum is
// compared by the caller.
func (p *Process) openDebug(path string) (*os.File, error) {
	if f, err := openIn(procFS.path(p.tid, "root"), path); err == nil {
		return f, nil
	}
	return openRegular(path)
}
