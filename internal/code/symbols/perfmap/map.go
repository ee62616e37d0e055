// SPDX-License-Identifier: Apache-2.0

// Package perfmap names run-time code by perf maps: tables of functions that JIT compilers write, usually
// /tmp/perf-PID.map. Each line is START SIZE NAME, hexadecimal.
//
// Source: tools/perf/Documentation/jit-interface.txt of the kernel.
package perfmap

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"prywalk/internal/host/filememory"
)

// Map is a perf map. Not safe for concurrent use.
type Map struct {
	names       []byte // concatenated
	entries     []entry
	segments    []segment
	indexed     int       // of entries, in segments
	order       []segment // of all entries' starts
	buf         []byte    // of a read
	line        []byte
	lineTooLong bool

	memory *filememory.Account
	room   int64 // bytes taken from memory and not yet used
	full   bool  // too large: the map is empty, as without its newest lines it would have old names
}

type entry struct {
	start, end uint64
	name       uint32 // offset in names
	nameLen    uint32
}

type segment struct {
	addr  uint64
	entry int32
}

const (
	maxName    = 8 << 10 // bytes
	maxLine    = maxName + 64
	maxEntries = 16 << 20
	// maxSize is in bytes. Some V8 versions write one entry for all builtins.
	maxSize = 1 << 32
	// entryCost is in bytes: an entry in a list that doubles, its place in the order, and two segments. nameCost is of
	// each byte of a name, in a list that doubles.
	entryCost = 2*24 + 16 + 36
	nameCost  = 2
	roomStep  = 128 << 10
	readPiece = 64 << 10
)

// readFrom reads up to limit bytes and returns their number. Malformed lines are skipped; a last line without a line
// feed is kept for the next call. Of overlapping entries the later line holds. The error is r's or a *filememory.Error;
// the Map has what was read until then.
func (m *Map) readFrom(r io.Reader, limit int64) (n int64, err error) {
	if m.buf == nil {
		m.buf = make([]byte, readPiece)
	}
	for n < limit && err == nil {
		var k int
		k, err = r.Read(m.buf[:min(readPiece, limit-n)])
		n += int64(k)
		if e := m.feed(m.buf[:k]); e != nil && err == nil {
			err = e
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (m *Map) feed(b []byte) error {
	for len(b) > 0 && !m.full {
		n := bytes.IndexByte(b, '\n')
		part, whole := b, n >= 0
		if whole {
			part, b = b[:n], b[n+1:]
		} else {
			b = nil
		}
		if room := maxLine - len(m.line); len(part) > room {
			part, m.lineTooLong = part[:room], true
		}
		m.line = append(m.line, part...)
		if !whole {
			return nil
		}
		if err := m.endLine(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Map) endLine() error {
	line := m.line
	if !m.lineTooLong {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	m.line, m.lineTooLong = m.line[:0], false
	if e, name, ok := parseLine(line); ok {
		return m.add(e, name)
	}
	return nil
}

func (m *Map) add(e entry, name []byte) error {
	cost := int64(entryCost + nameCost*len(name))
	if m.room < cost {
		err := m.memory.Take(cost+roomStep, "functions")
		if err != nil || len(m.entries) >= maxEntries {
			m.drop()
			return err
		}
		m.room += cost + roomStep
	}
	m.room -= cost
	e.name, e.nameLen = uint32(len(m.names)), uint32(len(name))
	if len(m.names)+len(name) > cap(m.names) { // append would grow by a quarter, with more garbage
		m.names = slices.Grow(m.names, len(m.names)+len(name))
	}
	if len(m.entries) == cap(m.entries) {
		m.entries = slices.Grow(m.entries, len(m.entries)+1)
	}
	m.names = append(m.names, name...)
	m.entries = append(m.entries, e)
	return nil
}

func (m *Map) drop() {
	m.memory.Close()
	*m = Map{memory: m.memory, full: true}
}

func parseLine(line []byte) (e entry, name []byte, ok bool) {
	start, rest := cutField(line)
	size, rest := cutField(rest)
	var err, errSize error
	e.start, err = parseHex(start)
	e.end, errSize = parseHex(size)
	name = bytes.TrimLeft(rest, " \t")
	if err != nil || errSize != nil || len(name) == 0 || e.end == 0 || e.end > maxSize || e.start+e.end < e.start {
		return e, nil, false
	}
	e.end += e.start
	return e, name[:min(len(name), maxName)], true
}

func cutField(b []byte) (field, rest []byte) {
	b = bytes.TrimLeft(b, " \t")
	end := bytes.IndexAny(b, " \t")
	if end < 0 {
		return b, nil
	}
	return b[:end], b[end:]
}

func parseHex(b []byte) (uint64, error) {
	if len(b) > 2 && b[0] == '0' && b[1]|0x20 == 'x' {
		b = b[2:]
	}
	return strconv.ParseUint(string(b), 16, 64)
}

// Lookup returns the function at a run-time address, and its entry's range.
func (m *Map) Lookup(addr uint64) (name string, start, end uint64, ok bool) {
	i, _ := slices.BinarySearchFunc(m.segments, addr, func(s segment, a uint64) int {
		if s.addr <= a {
			return -1
		}
		return 1
	})
	if i == 0 || m.segments[i-1].entry < 0 {
		return "", 0, 0, false
	}
	e := &m.entries[m.segments[i-1].entry]
	return string(m.names[e.name : e.name+e.nameLen]), e.start, e.end, true
}
