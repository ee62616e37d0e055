// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
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
	// JIT means that without a readable ELF file the code counts as made at run time; its addresses are the process's.
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

// errMaps means that the text is not a list of mappings.
var errMaps = errors.New("malformed maps")

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
			return fmt.Errorf("%w: line %d: %.80q", errMaps, n, line)
		}
		f(&m)
	}
	return nil
}

func (m *RawMapping) parse(line []byte) bool {
	c := procmem.Cursor{Text: line}
	pair := func(sep byte) (a, b uint64) {
		first, second, _ := bytes.Cut(c.Word(), []byte{sep})
		return c.Number(first, 16), c.Number(second, 16)
	}
	*m = RawMapping{}
	m.Start, m.End = pair('-')
	perm, known := parsePerm(c.Word())
	m.Perm = perm
	m.Offset = c.Number(c.Word(), 16)
	major, minor := pair(':')
	m.Dev = major<<32 | minor&(1<<32-1)
	m.Inode = c.Uint()
	m.RawPath = bytes.TrimLeft(c.Text, " ")
	return known && !c.Bad && m.Start < m.End
}

func parsePerm(text []byte) (p Perm, ok bool) {
	if len(text) != 4 {
		return 0, false
	}
	for i, letter := range []byte("rwxs") {
		if text[i] == letter {
			p |= 1 << i
		} else if text[i] != '-' && !(i == 3 && text[i] == 'p') {
			return 0, false
		}
	}
	return p, true
}
