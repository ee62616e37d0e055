// SPDX-License-Identifier: Apache-2.0

package perfmap

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"prywalk/internal/filememory"
)

// Map is a perf map. Not safe for concurrent use.
type Map struct {
	names       [][]byte
	entries     []entry
	segments    []segment
	indexed     int // of entries, in segments
	order       []begin
	newIndexes  []int32
	line        []byte
	lineTooLong bool
	skipsLine   bool // up to the next line feed: its beginning is unknown

	memory *filememory.Account
	room   int64 // bytes taken from memory and not yet used
	full   bool  // no memory is left; the map is empty
}

// entry's name is the chunk's number above nameBits, and the offset in it.
type entry struct {
	start, end uint64
	name       uint32
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
	// entryCost is in bytes: an entry in a doubling list, its place in the order, two segments, its new index.
	entryCost = 2*24 + 16 + 36 + 4
	nameBits  = 16
	nameChunk = 1 << nameBits
	readPiece = 64 << 10 // bytes
)

// readFrom reads up to limit bytes and returns their number. Malformed lines are skipped; a last line without a line
// feed is kept for the next call. Of overlapping entries the later line holds. The error is r's or a *filememory.Error;
// the Map has what was read until then.
func (m *Map) readFrom(r io.Reader, limit int64) (n int64, err error) {
	buf := make([]byte, min(readPiece, limit))
	for n < limit && err == nil {
		var k int
		k, err = r.Read(buf[:min(int64(len(buf)), limit-n)])
		n += int64(k)
		if e := m.feed(buf[:k]); e != nil && err == nil {
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
		if m.skipsLine {
			if n < 0 {
				return nil
			}
			b, m.skipsLine = b[n+1:], false
			continue
		}
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

func (m *Map) feedZeros(n int64) {
	if m.skipsLine {
		return
	}
	room := int64(maxLine - len(m.line))
	m.line = append(m.line, make([]byte, min(n, room))...)
	m.lineTooLong = m.lineTooLong || n > room
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
	need := int64(entryCost)
	if !m.fits(name) && m.spareChunk() == nil {
		need += nameChunk
	}
	if !m.hasRoom(need) {
		if m.keepNewest(); m.room < need {
			err := m.memory.Take(need, "functions")
			*m = Map{memory: m.memory, full: true} // without its newest lines it would have old names
			return err
		}
	}
	m.room -= entryCost
	m.appendEntry(e, name)
	return nil
}

// hasRoom takes memory if needed.
func (m *Map) hasRoom(need int64) bool {
	if len(m.entries) == maxEntries || len(m.names) == 1<<(32-nameBits)-1 {
		return false
	}
	more := need + 1024*entryCost
	if m.room >= need {
		return true
	}
	if m.memory != nil && m.memory.Left() < more || m.memory.Take(more, "functions") != nil {
		return false
	}
	m.room += more
	return true
}

func (m *Map) fits(name []byte) bool {
	n := len(m.names)
	return n > 0 && len(m.names[n-1])+len(name) <= nameChunk
}

// spareChunk returns the next chunk of an earlier, longer list, or nil.
func (m *Map) spareChunk() []byte {
	if n := len(m.names); n < cap(m.names) {
		return m.names[: n+1 : n+1][n]
	}
	return nil
}

func (m *Map) appendEntry(e entry, name []byte) {
	if !m.fits(name) {
		chunk := m.spareChunk()
		if chunk == nil {
			m.room -= nameChunk
			chunk = make([]byte, 0, nameChunk)
		}
		m.names = append(m.names, chunk[:0])
	}
	last := len(m.names) - 1
	chunk := &m.names[last]
	e.name, e.nameLen = uint32(last<<nameBits+len(*chunk)), uint32(len(name))
	*chunk = append(*chunk, name...)
	m.entries = append(m.entries, e)
}

func (m *Map) name(e *entry) string {
	at := e.name & (nameChunk - 1)
	return string(m.names[e.name>>nameBits][at : at+e.nameLen])
}

func parseLine(line []byte) (e entry, name []byte, ok bool) {
	start, n := parseHex(line)
	size, n2 := parseHex(line[n:])
	n += n2
	name = bytes.TrimLeft(line[n:], " \t")
	if n2 == 0 || len(name) == 0 || len(name) == len(line[n:]) || size == 0 || size > maxSize || start+size < start {
		return e, nil, false
	}
	return entry{start: start, end: start + size}, name[:min(len(name), maxName)], true
}

// parseHex reads a hexadecimal number after blanks, perhaps with "0x", and returns the bytes used; 0: no number of at
// most 64 bits.
func parseHex(b []byte) (v uint64, n int) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	if i+2 < len(b) && b[i] == '0' && b[i+1]|0x20 == 'x' {
		i += 2
	}
	first := i
	for ; i < len(b); i++ {
		d := hexDigit(b[i])
		if d > 15 {
			break
		}
		if v>>60 != 0 {
			return 0, 0
		}
		v = v<<4 | uint64(d)
	}
	if i == first {
		return 0, 0
	}
	return v, i
}

func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xff
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
	return m.name(e), e.start, e.end, true
}
