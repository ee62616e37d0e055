// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"os"

	"prywalk/internal/outfile"
)

// keepChunks is how many of the journal's chunks stay in memory; what is older lies in a
// file. It is enough for a minute of a busy server.
const keepChunks = 64

// spill is a file without a name for the journal's older part: a recording of hours takes
// no more memory than one of minutes. Where none can be made, or the disk is full, all
// stays in memory.
type spill struct {
	dir  string // where to make the file; "": nothing is spilled
	file *os.File
	size int64
}

// chunk is one piece of the journal: in memory, or in a file if bytes is nil.
type chunk struct {
	bytes []byte
	file  *os.File
	at    int64
	n     int
	era   int // of the journal: whose labels its records have
}

// put moves a chunk that is full to the file.
func (s *spill) put(c *chunk) {
	if s.file == nil && !s.open() {
		return
	}
	n := len(c.bytes)
	if _, err := s.file.WriteAt(c.bytes, s.size); err != nil {
		s.dir = "" // what is there stays readable
		return
	}
	*c = chunk{file: s.file, at: s.size, n: n, era: c.era}
	s.size += int64(n)
}

// on reports whether chunks are spilled.
func (s *spill) on() bool { return s.dir != "" }

// open makes the file.
func (s *spill) open() bool {
	f, err := outfile.Scratch(s.dir)
	if err != nil {
		s.dir = ""
		return false
	}
	s.file = f
	return true
}

// load gives a chunk's bytes; buf is used for those that lie in the file.
func (c *chunk) load(buf *[]byte) ([]byte, error) {
	if c.file == nil {
		return c.bytes, nil
	}
	if cap(*buf) < c.n {
		*buf = make([]byte, max(c.n, chunkSize))
	}
	b := (*buf)[:c.n]
	if _, err := c.file.ReadAt(b, c.at); err != nil {
		return nil, err
	}
	return b, nil
}
