// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"prywalk/internal/host/outfile"
)

// maxChunksInMemory is about 4 MB, and at most 6 MB (maxChunkBytes).
const maxChunksInMemory = 12

type spill struct {
	dir    string // "" means no more writes
	file   *os.File
	size   int64 // bytes
	failed func(error)
}

// chunk is in memory if file is nil.
type chunk struct {
	bytes   []byte
	file    *os.File
	at      int64
	size    int // bytes
	records int
	newest  int64 // of a ring: latest end, in nanoseconds of Unix time
}

func (s *spill) write(c *chunk) {
	var err error
	if s.file == nil {
		s.file, err = outfile.TempFile(s.dir)
	}
	if err == nil {
		_, err = s.file.WriteAt(c.bytes, s.size)
	}
	if err != nil {
		if s.failed != nil {
			s.failed(fmt.Errorf("cannot write a temporary file in %s: %w", s.dir, cause(err)))
		}
		s.dir = "" // earlier chunks stay readable
		return
	}
	n := len(c.bytes)
	*c = chunk{file: s.file, at: s.size, size: n, records: c.records}
	s.size += int64(n)
}

// cause leaves out the path of an error, since the file has no name.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// Precondition: no chunk in the file will be read.
func (s *spill) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

func (s *spill) enabled() bool { return s.dir != "" }

func (c *chunk) load(buf *[]byte) ([]byte, error) {
	if c.file == nil {
		return c.bytes, nil
	}
	*buf = slices.Grow((*buf)[:0], c.size)
	b := (*buf)[:c.size]
	if _, err := c.file.ReadAt(b, c.at); err != nil {
		return nil, cause(err)
	}
	return b, nil
}
