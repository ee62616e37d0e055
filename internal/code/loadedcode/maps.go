// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"

	"prywalk/frames"
)

// Perm is a set of access rights.
type Perm uint8

// Access rights (proc_pid_maps(5)).
const (
	PermRead Perm = 1 << iota
	PermWrite
	PermExec
	permShared
)

// MapsLine is a line of /proc/PID/maps (proc_pid_maps(5)).
type MapsLine struct {
	Start, End uint64
	// Offset is in bytes.
	Offset uint64
	// Dev has the major number in the upper 32 bits.
	Dev uint64
	// Inode is 0 without a file.
	Inode uint64
	Perm  Perm
	// Path is the file, a name such as [heap], or "".
	Path    string
	Deleted bool // unlinked
}

// Mapping is a mapping with its code.
type Mapping struct {
	MapsLine
	Image *Image
	// Unresponsive: the file system did not respond; the file's memory is not read.
	Unresponsive bool
	// JIT: without a readable ELF file the code counts as made at run time; its module has the process's addresses.
	JIT    bool
	closed *atomic.Bool
}

// FileOffset implements [frames.Origin].
func (m *Mapping) FileOffset() (file string, offset uint64) { return m.Path, m.Offset }

// MappingOf returns the mapping of a module, or nil.
func MappingOf(m *frames.Module) *Mapping {
	at, _ := m.Origin.(*Mapping)
	return at
}

// ProcessClosed reports whether the process is closed: its code is not walked.
func (m *Mapping) ProcessClosed() bool { return m.closed != nil && m.closed.Load() }

// ErrMaps means that the text is not a list of mappings.
var ErrMaps = errors.New("malformed maps")

// RawMapping is a MapsLine with an unparsed path.
type RawMapping struct {
	MapsLine
	RawPath []byte
}

// name unescapes line feeds (\012, seq_file_path).
func (m *RawMapping) name() (string, bool) {
	path, deleted := bytes.CutSuffix(m.RawPath, []byte(" (deleted)"))
	if bytes.Contains(path, []byte(`\012`)) {
		path = bytes.ReplaceAll(path, []byte(`\012`), []byte("\n"))
	}
	return string(path), deleted
}

func eachMapping(text []byte, f func(*RawMapping)) error {
	var m RawMapping
	for n := 1; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		if !m.parse(line) {
			return fmt.Errorf("%w: line %d: %.80q", ErrMaps, n, line)
		}
		f(&m)
	}
	return nil
}

func (m *RawMapping) parse(line []byte) bool {
	c := lineCursor{rest: line}
	*m = RawMapping{}
	m.Start = c.hex('-')
	m.End = c.hex(' ')
	m.Perm = c.perm()
	m.Offset = c.hex(' ')
	m.Dev = c.hex(':')<<32 | c.hex(' ')&(1<<32-1)
	m.Inode = c.decimal()
	m.RawPath = bytes.TrimLeft(c.rest, " ")
	return !c.bad && m.Start < m.End
}

type lineCursor struct {
	rest []byte
	bad  bool
}

func (c *lineCursor) hex(sep byte) uint64 {
	v, i := uint64(0), 0
	for ; i < len(c.rest) && i <= 16; i++ {
		d, ok := hexDigit(c.rest[i])
		if !ok {
			break
		}
		v = v<<4 | d
	}
	return c.endNumber(v, i, 16, sep)
}

func (c *lineCursor) endNumber(v uint64, i, most int, sep byte) uint64 {
	if c.bad || i == 0 || i > most || i >= len(c.rest) || c.rest[i] != sep {
		c.bad = true
		return 0
	}
	c.rest = c.rest[i+1:]
	return v
}

func hexDigit(b byte) (uint64, bool) {
	switch {
	case b >= '0' && b <= '9':
		return uint64(b - '0'), true
	case b >= 'a' && b <= 'f':
		return uint64(b-'a') + 10, true
	}
	return 0, false
}

func (c *lineCursor) decimal() uint64 {
	v, i := uint64(0), 0
	for ; i < len(c.rest) && i <= 20 && c.rest[i] >= '0' && c.rest[i] <= '9'; i++ {
		v = v*10 + uint64(c.rest[i]-'0')
	}
	if i == len(c.rest) && i > 0 && i <= 20 {
		c.rest = nil
		return v
	}
	return c.endNumber(v, i, 20, ' ')
}

func (c *lineCursor) perm() Perm {
	if c.bad || len(c.rest) < 5 || c.rest[4] != ' ' {
		c.bad = true
		return 0
	}
	var p Perm
	for i, letter := range []byte("rwxs") {
		if c.rest[i] == letter {
			p |= 1 << i
		} else if c.rest[i] != '-' && !(i == 3 && c.rest[i] == 'p') {
			c.bad = true
		}
	}
	c.rest = c.rest[5:]
	return p
}
