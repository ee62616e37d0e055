// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prywalk/internal/outfile"
)

// spoolName is the name of a file: turn and number of intervals.
const spoolName = "%016x-%d.otlp.gz"

// spool holds a compressed message per file, the oldest first by name. Not for concurrent use.
type spool struct {
	dir       string
	mostBytes int64
	size      int64
	files     []file
	lastTurn  uint64
	trimmed   int
}

type file struct {
	name   string
	turn   uint64
	points int
	size   int64
}

// openSpool opens a spool with the messages of an earlier run, and removes the oldest beyond the size.
func openSpool(dir string, most int64) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unusable(dir, err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, unusable(dir, err)
	}
	s := &spool{dir: dir, mostBytes: most}
	for _, e := range list {
		f := file{name: e.Name()}
		if n, err := fmt.Sscanf(f.name, spoolName, &f.turn, &f.points); n != 2 || err != nil ||
			f.name != fmt.Sprintf(spoolName, f.turn, f.points) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f.size = info.Size()
		s.files = append(s.files, f)
		s.size += f.size
		s.lastTurn = max(s.lastTurn, f.turn)
	}
	slices.SortFunc(s.files, func(a, b file) int { return cmp.Compare(a.turn, b.turn) })
	if probe, err := outfile.Scratch(dir); err != nil {
		return nil, unusable(dir, err)
	} else if err := probe.Close(); err != nil {
		return nil, unusable(dir, err)
	}
	s.trimmed = s.trim()
	return s, nil
}

func unusable(dir string, err error) error {
	return fmt.Errorf("--spool %s: %w; %s", dir, err, spoolStep(err))
}

// put writes a message, and removes the oldest beyond the size. It returns the number of their intervals.
func (s *spool) put(body []byte, points int) (dropped int, err error) {
	text := zipped(body)
	s.lastTurn++
	f := file{fmt.Sprintf(spoolName, s.lastTurn, points), s.lastTurn, points, int64(len(text))}
	err = outfile.Write(filepath.Join(s.dir, f.name), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return 0, err
	}
	s.files = append(s.files, f)
	s.size += f.size
	return s.trim(), nil
}

// trim removes the oldest messages beyond the size, except the last one, and returns the number of their intervals.
func (s *spool) trim() (dropped int) {
	for s.size > s.mostBytes && len(s.files) > 1 {
		dropped += s.files[0].points
		s.remove()
	}
	return dropped
}

func (s *spool) first() (body []byte, err error) {
	f := s.files[0]
	text, err := readUpTo(filepath.Join(s.dir, f.name), f.size)
	if err != nil {
		return nil, err
	}
	return unzipped(text, mostMessage)
}

func (s *spool) remove() {
	_ = os.Remove(filepath.Join(s.dir, s.files[0].name)) // on error, the next run sends it again
	s.size -= s.files[0].size
	s.files = s.files[1:]
}

func (s *spool) String() string { return strings.TrimSuffix(s.dir, "/") }
