// SPDX-License-Identifier: Apache-2.0

package code

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Perm is a set of access rights of a mapping.
type Perm uint8

// The rights, as proc(5) shows them.
const (
	PermRead Perm = 1 << iota
	PermWrite
	PermExec
	PermShared
)

// Mapping is one line of /proc/PID/maps (proc_pid_maps(5)).
type Mapping struct {
	Start, End uint64
	// Offset is where in the file the mapping starts, in bytes.
	Offset uint64
	// Dev is the device: the major number in the upper, the minor in the
	// lower 32 bits.
	Dev uint64
	// Inode is the file's, 0 for memory without one.
	Inode uint64
	Perm  Perm
	// Path is the file, a name such as [heap], or empty.
	Path string
	// Deleted: the kernel says that the file has no name any more.
	Deleted bool
	// StartedAs is the path by which the program was started, if this is its file under another name.
	StartedAs string
	// Image is the ELF file that the mapping's code comes from, in the Mapping that is the Origin of a [frames.Module].
	// It is nil for code without one (JIT compilers), and where neither the file nor its memory could be read.
	Image *Image
	// Withheld: the file system of its file did not answer. Its memory is not read
	// then, as far as it is known to be the file's.
	Withheld bool
	// JIT: the code was made at run time; the module's addresses are those of
	// the process.
	JIT bool
	// Names gives the functions of such code where it describes itself; nil where it does not.
	Names Names
	// over is set when the process is let go of; nil where nobody tells.
	over *atomic.Bool
}

// Place implements [frames.Origin].
func (m *Mapping) Place() (file string, offset uint64) { return m.Path, m.Offset }

// MappingOf gives the mapping that a module was made of; nil for a module that is none of this package's.
func MappingOf(m *frames.Module) *Mapping {
	at, _ := m.Origin.(*Mapping)
	return at
}

// Over reports whether the mapping's process has been let go of: nobody walks its code any more.
func (m *Mapping) Over() bool { return m.over != nil && m.over.Load() }

// Names is what knows the names of functions that were made at run time.
type Names interface {
	// Name gives the symbol of the function at a run-time address.
	Name(pc uint64) (name string, ok bool)
}

// ErrMaps is what [ParseMaps] gives for text that is not a list of mappings.
var ErrMaps = errors.New("malformed maps")

// RawMapping is a Mapping whose path still is a part of the text, so that the
// thousands of lines that nobody needs cost no allocation.
type RawMapping struct {
	Mapping
	RawPath []byte
}

// name turns the path into a string: the kernel escapes line feeds as \012
// (seq_file_path with "\n"), and marks names that are gone.
func (m *RawMapping) name() (string, bool) {
	path, deleted := bytes.CutSuffix(m.RawPath, []byte(" (deleted)"))
	if bytes.Contains(path, []byte(`\012`)) {
		path = bytes.ReplaceAll(path, []byte(`\012`), []byte("\n"))
	}
	return string(path), deleted
}

// ParseMaps parses the text of a /proc/PID/maps file.
func ParseMaps(text []byte) ([]Mapping, error) {
	var out []Mapping
	err := eachMapping(text, func(m *RawMapping) {
		m.Path, m.Deleted = m.name()
		out = append(out, m.Mapping)
	})
	return out, err
}

// eachMapping calls f for each line; the mapping is valid during the call. The
// first malformed line ends it with an error; an incomplete last line too.
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

// parse reads one line: start-end perms offset major:minor inode   path.
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

// lineCursor reads the fields of a line; after the first that is malformed bad is
// set and all others read as zero.
type lineCursor struct {
	rest []byte
	bad  bool
}

// hex reads a hexadecimal number of at most 64 bits and the separator after it.
func (c *lineCursor) hex(sep byte) uint64 {
	v, i := uint64(0), 0
	for ; i < len(c.rest) && i <= 16; i++ {
		d, ok := hexDigit(c.rest[i])
		if !ok {
			break
		}
		v = v<<4 | d
	}
	return c.end(v, i, 16, sep)
}

// end checks what follows a number of i digits and moves on.
func (c *lineCursor) end(v uint64, i, most int, sep byte) uint64 {
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

// decimal reads a decimal number that a space or the end of the line follows.
func (c *lineCursor) decimal() uint64 {
	v, i := uint64(0), 0
	for ; i < len(c.rest) && i <= 20 && c.rest[i] >= '0' && c.rest[i] <= '9'; i++ {
		v = v*10 + uint64(c.rest[i]-'0')
	}
	if i == len(c.rest) && i > 0 && i <= 20 {
		c.rest = nil
		return v
	}
	return c.end(v, i, 20, ' ')
}

// perm reads four letters and a space.
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

// Listing is what a process has mapped, as far as looks and walks need it.
type Listing struct {
	text []byte
	// Code are the mappings with code, Spans are all, in rising order.
	Code  []Mapping
	Spans []procmem.Span
}

// Read reads the mappings of a process that nobody has opened.
func (l *Listing) Read(pid int) error {
	var err error
	if l.text, err = procmem.ReadMaps(pid, l.text); err != nil {
		return err
	}
	return l.parse()
}

// HasCode reports whether an address lies in a mapping with code.
func (l *Listing) HasCode(addr uint64) bool {
	return slices.ContainsFunc(l.Code, func(m Mapping) bool { return m.Start <= addr && addr < m.End })
}

// parse fills the lists anew: the ones before may be others' by now.
func (l *Listing) parse() error {
	l.Code, l.Spans = nil, nil
	return eachMapping(l.text, func(m *RawMapping) {
		l.Spans = append(l.Spans, m.span())
		if m.Perm&PermExec != 0 {
			m.Path, m.Deleted = m.name()
			l.Code = append(l.Code, m.Mapping)
		}
	})
}
