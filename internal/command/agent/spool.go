// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"prywalk/internal/host/outfile"
)

// spoolName has a sequence number, and the number of intervals.
const spoolName = "%016x-%d.otlp.gz"

var (
	errDamagedFile = errors.New("it cannot be read")
	errSpoolInUse  = errors.New("another agent uses it")
)

// spool is a directory with one compressed message per file, by name in the order of writing. No other user may write
// to it: its messages are sent with the agent's token. Not for concurrent use.
type spool struct {
	dir      string
	maxBytes int64
	next     uint64    // sequence number
	left     []message // when it was opened
	open     *outfile.Directory
}

// openSpool locks a spool, which may have messages of an earlier run.
func openSpool(dir string, maxBytes int64) (s *spool, err error) {
	open, err := outfile.OpenDirectory(dir)
	if err != nil {
		return nil, unusable(dir, err)
	}
	defer func() {
		if err != nil {
			_ = open.Close()
		}
	}()
	if !open.TryLock() {
		return nil, unusable(dir, errSpoolInUse)
	}
	list, err := open.List()
	if err != nil {
		return nil, unusable(dir, err)
	}
	s = &spool{open: open, dir: dir, maxBytes: maxBytes}
	for _, e := range list {
		m := message{file: e.Name()}
		var sequence uint64
		if n, err := fmt.Sscanf(m.file, spoolName, &sequence, &m.intervals); n != 2 || err != nil ||
			m.file != fmt.Sprintf(spoolName, sequence, m.intervals) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		m.size = info.Size()
		s.left = append(s.left, m)
		s.next = max(s.next, sequence+1)
	}
	if err := open.CheckWritable(); err != nil {
		return nil, unusable(dir, err)
	}
	return s, nil
}

func (s *spool) close() { _ = s.open.Close() }

func unusable(dir string, err error) error {
	return fmt.Errorf("--spool %s: %w; %s", dir, err, spoolStep(err))
}

// write moves a message from memory to a file.
func (s *spool) write(m *message) error {
	name := fmt.Sprintf(spoolName, s.next, m.intervals)
	err := s.open.Write(name, func(w io.Writer) error {
		_, err := w.Write(m.compressed)
		return err
	})
	if err == nil {
		s.next++
		m.file, m.compressed = name, nil
	}
	return err
}

// read returns a message. Its error is [errDamagedFile], or may be temporary.
func (s *spool) read(m *message) (body []byte, err error) {
	file, err := s.open.Open(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errDamagedFile, err)
	} else if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, m.size))
	if err != nil {
		return nil, err
	}
	if body, err = gzipDecompress(text, maxMessage); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedFile, err)
	}
	return body, nil
}

func (s *spool) remove(m *message) { _ = s.open.Remove(m.file) } // on error, the next run sends it again

func (s *spool) String() string { return strings.TrimSuffix(s.dir, "/") }
