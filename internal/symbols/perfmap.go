package symbols

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// DefaultPerfMapLimit is how many bytes of a perf map are read by default; a map
// of a million functions has about 100 MB.
const DefaultPerfMapLimit = 256 << 20

// ErrPerfMapTooBig reports that a perf map is longer than the limit. What was
// read up to there is used.
var ErrPerfMapTooBig = errors.New("perf map is longer than the limit")

// PerfMap is the table of functions that a JIT compiler writes for profilers,
// usually as /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt in the
// kernel): a line "START SIZE NAME" for each, numbers in hex without prefix.
// It may be used by several goroutines.
type PerfMap struct {
	text    []byte
	entries []jitEntry
	segs    []jitSeg
	skipped int
}

// jitEntry is one line; its name is a part of the text.
type jitEntry struct {
	start, end uint64
	name       uint32
	nameLen    uint32
}

// jitSeg says that from addr on, an entry holds; -1: none.
type jitSeg struct {
	addr  uint64
	entry int32
}

const (
	// maxJITName is the length at which names are cut, in bytes.
	maxJITName = 8 << 10
	// maxJITEntries bounds the entries: 16 bytes a line at least.
	maxJITEntries = 16 << 20
	// maxJITSize is what no function is larger than; V8 writes one entry for
	// all of its built-in functions in some versions.
	maxJITSize = 1 << 32
)

// ReadPerfMap reads a perf map to its end, but at most limit bytes (0 means
// [DefaultPerfMapLimit]). Lines that are not understood are passed over and
// counted. A last line without a line feed is passed over too: the compiler is
// still writing it, and half a name misleads. Where entries overlap the later one
// holds, as compilers reuse addresses and append. The error comes from r, or is
// [ErrPerfMapTooBig]; the map is usable with what was read until then.
func ReadPerfMap(r io.Reader, limit int64) (*PerfMap, error) {
	if limit <= 0 {
		limit = DefaultPerfMapLimit
	}
	limit = min(limit, 1<<32-1)
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(text)) > limit {
		text, err = text[:limit], ErrPerfMapTooBig
	}
	if err != nil {
		err = fmt.Errorf("reading the perf map: %w", err)
	}
	m := &PerfMap{text: text}
	for off := 0; off < len(text); {
		n := bytes.IndexByte(text[off:], '\n')
		if n < 0 || len(m.entries) == maxJITEntries {
			m.skipped++
			break
		}
		if e, ok := parseJITLine(text, off, off+n); ok {
			m.entries = append(m.entries, e)
		} else if n > 0 {
			m.skipped++
		}
		off += n + 1
	}
	m.index()
	return m, err
}

// parseJITLine reads the line text[off:end].
func parseJITLine(text []byte, off, end int) (e jitEntry, ok bool) {
	if end > off && text[end-1] == '\r' {
		end--
	}
	line := text[off:end]
	start, n := parseHex(line)
	size, n2 := parseHex(line[n:])
	n += n2
	name := bytes.TrimLeft(line[n:], " \t")
	if n2 == 0 || len(name) == 0 || len(name) == len(line[n:]) || size == 0 || size > maxJITSize || start+size < start {
		return e, false
	}
	at := end - len(name)
	return jitEntry{start: start, end: start + size, name: uint32(at), nameLen: uint32(min(len(name), maxJITName))}, true
}

// parseHex reads a hexadecimal number after blanks, with or without "0x", and
// gives the bytes used, 0 if there is no number of at most 64 bits.
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

// hexDigit gives the value of a digit, more than 15 if it is none.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xff
}

// Len gives the number of entries.
func (m *PerfMap) Len() int { return len(m.entries) }

// Skipped gives the number of lines that were not understood.
func (m *PerfMap) Skipped() int { return m.skipped }

// Lookup gives the function at a run-time address and the addresses that its
// entry claims (end excluded).
func (m *PerfMap) Lookup(addr uint64) (name string, start, end uint64, ok bool) {
	i, _ := slices.BinarySearchFunc(m.segs, addr, func(s jitSeg, a uint64) int {
		if s.addr <= a {
			return -1
		}
		return 1
	})
	if i == 0 || m.segs[i-1].entry < 0 {
		return "", 0, 0, false
	}
	e := &m.entries[m.segs[i-1].entry]
	return string(m.text[e.name : e.name+e.nameLen]), e.start, e.end, true
}

// latest is a heap of entries that have begun, the latest line on top.
type latest []int32

func (h *latest) push(i int32) {
	*h = append(*h, i)
	for n := len(*h) - 1; n > 0 && (*h)[(n-1)/2] < (*h)[n]; n = (n - 1) / 2 {
		(*h)[(n-1)/2], (*h)[n] = (*h)[n], (*h)[(n-1)/2]
	}
}

func (h *latest) pop() {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	for n := 0; 2*n+1 < last; {
		c := 2*n + 1
		if c+1 < last && (*h)[c+1] > (*h)[c] {
			c++
		}
		if (*h)[n] >= (*h)[c] {
			return
		}
		(*h)[n], (*h)[c] = (*h)[c], (*h)[n]
		n = c
	}
}

// index turns the entries into segments in which one entry holds: a sweep over
// the addresses, in which the latest entry that has begun and not ended is on top.
func (m *PerfMap) index() {
	type begin struct {
		addr  uint64
		entry int32
	}
	order := make([]begin, len(m.entries))
	for i := range order {
		order[i] = begin{m.entries[i].start, int32(i)}
	}
	slices.SortFunc(order, func(a, b begin) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.entry, b.entry))
	})
	m.segs = make([]jitSeg, 0, len(order)+len(order)/8)
	var open latest
	for _, b := range order {
		m.closeUpTo(&open, b.addr)
		open.push(b.entry)
		m.emit(b.addr, open[0])
	}
	m.closeUpTo(&open, ^uint64(0))
}

// closeUpTo takes the entries that end by addr off the top, and lets what is
// below come up where it reaches further.
func (m *PerfMap) closeUpTo(open *latest, addr uint64) {
	for len(*open) > 0 {
		end := m.entries[(*open)[0]].end
		if end > addr {
			return
		}
		for len(*open) > 0 && m.entries[(*open)[0]].end <= end {
			open.pop()
		}
		below := int32(-1)
		if len(*open) > 0 {
			below = (*open)[0]
		}
		m.emit(end, below)
	}
}

func (m *PerfMap) emit(addr uint64, entry int32) {
	switch n := len(m.segs); {
	case n > 0 && m.segs[n-1].addr == addr:
		m.segs[n-1].entry = entry
	case n > 0 && m.segs[n-1].entry == entry:
	default:
		m.segs = append(m.segs, jitSeg{addr, entry})
	}
}
