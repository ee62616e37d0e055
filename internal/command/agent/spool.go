// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"prywalk/internal/host/outfile"
)

// spoolName has a sequence number, and the number of intervals.
const spoolName = "%016x-%d.otlp.gz"

// initialSequence leaves numbers for the parts of the first message.
const initialSequence = 1 << 32

var errDamagedFile = errors.New("it cannot be read")

// spool has one compressed message per file, by name in the order of age. No other user may write to its directory: its
// messages are sent with the agent's token. Not for concurrent use.
type spool struct {
	dir                         string
	maxBytes                    int64
	size                        int64
	files                       []spoolFile
	firstSequence, nextSequence uint64 // first ≤ n < next
	droppedAtOpen               int
	open                        *outfile.Directory
}

type spoolFile struct {
	name      string
	intervals int
	size      int64
}

var errSpoolInUse = errors.New("another agent uses it")

// openSpool locks a spool, which may have messages of an earlier run. It drops the oldest beyond maxBytes.
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
	s = &spool{open: open, dir: dir, maxBytes: maxBytes, firstSequence: initialSequence, nextSequence: initialSequence}
	for _, e := range list {
		f := spoolFile{name: e.Name()}
		var sequence uint64
		if n, err := fmt.Sscanf(f.name, spoolName, &sequence, &f.intervals); n != 2 || err != nil ||
			f.name != fmt.Sprintf(spoolName, sequence, f.intervals) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f.size = info.Size()
		s.files = append(s.files, f)
		s.size += f.size
		s.firstSequence, s.nextSequence = min(s.firstSequence, sequence), max(s.nextSequence, sequence+1)
	}
	if err := open.CheckWritable(); err != nil {
		return nil, unusable(dir, err)
	}
	s.droppedAtOpen = s.trim(0)
	return s, nil
}

func (s *spool) close() { _ = s.open.Close() }

func unusable(dir string, err error) error {
	return fmt.Errorf("--spool %s: %w; %s", dir, err, spoolStep(err))
}

// put writes m, and drops the oldest beyond maxBytes, except the first kept. It returns the number of dropped
// intervals.
func (s *spool) put(m message, kept int) (dropped int, err error) {
	f, err := s.write(s.nextSequence, m)
	if err != nil {
		return 0, err
	}
	s.nextSequence++
	s.files = append(s.files, f)
	return s.trim(kept), nil
}

func (s *spool) write(sequence uint64, m message) (spoolFile, error) {
	f := spoolFile{fmt.Sprintf(spoolName, sequence, m.intervals), m.intervals, int64(len(m.compressed))}
	err := s.open.Write(f.name, func(w io.Writer) error {
		_, err := w.Write(m.compressed)
		return err
	})
	if err == nil {
		s.size += f.size
	}
	return f, err
}

// replaceFirst writes the parts before it removes the message: an agent killed in between sends parts twice. On error
// nothing changes.
func (s *spool) replaceFirst(parts []message) error {
	if s.firstSequence < uint64(len(parts)) {
		return errors.New("no sequence number is left before the first message")
	}
	files := make([]spoolFile, 0, len(parts))
	first := s.firstSequence - uint64(len(parts))
	for i := range parts {
		f, err := s.write(first+uint64(i), parts[i])
		if err != nil {
			for j := range files {
				s.delete(&files[j])
			}
			return err
		}
		files = append(files, f)
	}
	s.firstSequence = first
	s.remove(0)
	s.files = append(files, s.files...)
	return nil
}

// trim drops the oldest files beyond maxBytes, except the first kept and the last. It returns the number of dropped
// intervals.
func (s *spool) trim(kept int) (dropped int) {
	for s.size > s.maxBytes && len(s.files) > kept+1 {
		dropped += s.files[kept].intervals
		s.remove(kept)
	}
	return dropped
}

// first returns the first message. Its error is [errDamagedFile], or may be temporary.
func (s *spool) first() (body []byte, err error) {
	text, err := s.read(&s.files[0])
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errDamagedFile, err)
	} else if err != nil {
		return nil, err
	}
	if body, err = gzipDecompress(text, maxMessage); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedFile, err)
	}
	return body, nil
}

func (s *spool) read(f *spoolFile) ([]byte, error) {
	file, err := s.open.Open(f.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, f.size))
}

func (s *spool) moveFirstToEnd() { s.files = append(s.files[1:], s.files[0]) }

func (s *spool) remove(i int) {
	s.delete(&s.files[i])
	s.files = slices.Delete(s.files, i, i+1)
}

func (s *spool) delete(f *spoolFile) {
	_ = s.open.Remove(f.name) // on error, the next run sends it again
	s.size -= f.size
}

func (s *spool) String() string { return strings.TrimSuffix(s.dir, "/") }
