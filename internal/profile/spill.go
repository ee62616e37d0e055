// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"os"

	"prywalk/internal/outfile"
)

const maxChunksInMemory = 64

// After an error, chunks stay in memory.
type spill struct {
	dir  string
	file *os.File
	size int64
}

// chunk is in memory if file is nil.
type chunk struct {
	bytes      []byte
	file       *os.File
	at         int64
	size       int
	generation int
}

func (s *spill) write(c *chunk) {
	if s.file == nil && !s.open() {
		return
	}
	n := len(c.bytes)
	if _, err := s.file.WriteAt(c.bytes, s.size); err != nil {
		s.dir = ""
		return
	}
	*c = chunk{file: s.file, at: s.size, size: n, generation: c.generation}
	s.size += int64(n)
}

// Precondition: no chunk in the file will be read.
func (s *spill) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

func (s *spill) enabled() bool { return s.dir != "" }

func (s *spill) open() bool {
	f, err := outfile.TempFile(s.dir)
	if err != nil {
		s.dir = ""
		return false
	}
	s.file = f
	return true
}

func (c *chunk) load(buf *[]byte) ([]byte, error) {
	if c.file == nil {
		return c.bytes, nil
	}
	if cap(*buf) < c.size {
		*buf = make([]byte, max(c.size, chunkSize))
	}
	b := (*buf)[:c.size]
	if _, err := c.file.ReadAt(b, c.at); err != nil {
		return nil, err
	}
	return b, nil
}
