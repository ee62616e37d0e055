package symbols

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"prywalk/internal/budget"
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
// It is for one goroutine at a time.
type PerfMap struct {
	// names has the names, in chunks that none of them crosses.
	names   [][]byte
	entries []jitEntry
	segs    []jitSeg
	indexed int // entries that segs are of
	skipped int
	// line is the line that is being read, as far as it is kept; long: it goes on beyond that.
	line []byte
	long bool

	memory *budget.Account
	room   int64 // bytes of the account that are taken and not yet used
	full   bool  // there was no memory for more
}

// jitEntry is one line; its name is in the chunk of the upper bits, at the lower ones.
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
	// maxJITLine is how much of a line is kept while it is read: two numbers and a name.
	maxJITLine = maxJITName + 64
	// maxJITEntries bounds the entries: 16 bytes a line at least.
	maxJITEntries = 16 << 20
	// maxJITSize is what no function is larger than; V8 writes one entry for
	// all of its built-in functions in some versions.
	maxJITSize = 1 << 32
	// jitEntryCost is what an entry takes, in bytes: itself, in a list that doubles as it grows, its place in the
	// order by address, and two segments.
	jitEntryCost = 2*24 + 16 + 36
	// nameBits and nameChunk are the size of the chunks of names.
	nameBits  = 16
	nameChunk = 1 << nameBits
	// readPiece is how much of a map is in memory at a time, in bytes.
	readPiece = 64 << 10
)

// ReadPerfMap reads a perf map to its end, but at most limit bytes (0 means
// [DefaultPerfMapLimit]). Lines that are not understood are passed over and
// counted. A last line without a line feed is passed over too: the compiler is
// still writing it, and half a name misleads. Where entries overlap the later one
// holds, as compilers reuse addresses and append. Memory is taken of an account, which may
// be nil, and when that is used up the rest of the map is left out. The error comes from r, or is
// [ErrPerfMapTooBig] or a *budget.Error; the map is usable with what was read until then.
func ReadPerfMap(r io.Reader, limit int64, memory *budget.Account) (*PerfMap, error) {
	if limit <= 0 {
		limit = DefaultPerfMapLimit
	}
	m := &PerfMap{memory: memory}
	n, err := m.readFrom(io.LimitReader(r, limit+1), limit)
	if err == nil && n == limit {
		var more [1]byte
		if k, _ := r.Read(more[:]); k > 0 {
			err = ErrPerfMapTooBig
		}
	}
	if err != nil {
		err = fmt.Errorf("reading the perf map: %w", err)
	}
	m.index()
	return m, err
}

// readFrom reads up to limit bytes, of which no more than a piece is in memory at a time, and gives their number.
func (m *PerfMap) readFrom(r io.Reader, limit int64) (n int64, err error) {
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

// feed takes the next bytes of the map. The error is a *budget.Error.
func (m *PerfMap) feed(b []byte) error {
	for len(b) > 0 && !m.full {
		n := bytes.IndexByte(b, '\n')
		part, whole := b, n >= 0
		if whole {
			part, b = b[:n], b[n+1:]
		} else {
			b = nil
		}
		if room := maxJITLine - len(m.line); len(part) > room {
			part, m.long = part[:room], true
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

// feedZeros is feed for n zero bytes, which are of one line.
func (m *PerfMap) feedZeros(n int64) {
	room := int64(maxJITLine - len(m.line))
	m.line = append(m.line, make([]byte, min(n, room))...)
	m.long = m.long || n > room
}

// endLine takes the line that was read.
func (m *PerfMap) endLine() error {
	line := m.line
	if !m.long {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	e, name, ok := parseJITLine(line)
	empty := len(m.line) == 0
	m.line, m.long = m.line[:0], false
	switch {
	case ok:
		return m.add(e, name)
	case !empty:
		m.skipped++
	}
	return nil
}

// add keeps an entry.
func (m *PerfMap) add(e jitEntry, name []byte) error {
	last := len(m.names) - 1
	need := int64(jitEntryCost)
	if last < 0 || len(m.names[last])+len(name) > nameChunk {
		need += nameChunk
	}
	if m.room < need {
		more := need + 1024*jitEntryCost
		if err := m.memory.Take(more, "functions"); err != nil {
			m.full = true
			return err
		}
		m.room += more
	}
	if len(m.entries) == maxJITEntries || len(m.names) > 1<<(32-nameBits)-1 {
		m.full = true
		return nil
	}
	m.room -= need
	if need > jitEntryCost {
		m.names = append(m.names, make([]byte, 0, nameChunk))
		last++
	}
	chunk := &m.names[last]
	e.name, e.nameLen = uint32(last<<nameBits+len(*chunk)), uint32(len(name))
	*chunk = append(*chunk, name...)
	m.entries = append(m.entries, e)
	return nil
}

// name gives an entry's name.
func (m *PerfMap) name(e *jitEntry) string {
	at := e.name & (nameChunk - 1)
	return string(m.names[e.name>>nameBits][at : at+e.nameLen])
}

// parseJITLine reads a line, and gives its name, which is a part of it.
func parseJITLine(line []byte) (e jitEntry, name []byte, ok bool) {
	start, n := parseHex(line)
	size, n2 := parseHex(line[n:])
	n += n2
	name = bytes.TrimLeft(line[n:], " \t")
	if n2 == 0 || len(name) == 0 || len(name) == len(line[n:]) || size == 0 || size > maxJITSize || start+size < start {
		return e, nil, false
	}
	return jitEntry{start: start, end: start + size}, name[:min(len(name), maxJITName)], true
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

// Skipped gives the number of lines that were not understood, or are not whole.
func (m *PerfMap) Skipped() int {
	if len(m.line) > 0 {
		return m.skipped + 1
	}
	return m.skipped
}

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
	return m.name(e), e.start, e.end, true
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
	if m.indexed == len(m.entries) {
		return
	}
	m.indexed = len(m.entries)
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
