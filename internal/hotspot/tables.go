package hotspot

import (
	"encoding/binary"
	"slices"
)

// Bounds of what is read from a process: it may say anything.
const (
	maxEntries = 1 << 14 // of a table; JDK 17 has 1,500 fields
	maxStride  = 256
	maxName    = 64
	maxHeaps   = 16
)

// memory reads the process with a sticky error.
type memory struct {
	read   func(addr uint64, b []byte) int
	failed bool
	buf    [8]byte
	text   [maxName]byte
	window [2048]byte
}

func (m *memory) bytes(addr uint64, b []byte) bool {
	if m.failed || m.read(addr, b) != len(b) {
		m.failed = true
		clear(b)
	}
	return !m.failed
}

func (m *memory) word(addr uint64) uint64 {
	m.bytes(addr, m.buf[:8])
	return binary.LittleEndian.Uint64(m.buf[:8])
}

func (m *memory) int32(addr uint64) int32 {
	m.bytes(addr, m.buf[:4])
	return int32(binary.LittleEndian.Uint32(m.buf[:4]))
}

// name reads a string that ends with 0, shortened to maxName bytes. Less than that may lie
// before the end of the mapping.
func (m *memory) name(addr uint64) string {
	b := m.text[:]
	if m.failed || addr == 0 {
		return ""
	}
	n := m.read(addr, b)
	if n <= 0 {
		m.failed = true
		return ""
	}
	for i, c := range b[:n] {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b[:n])
}

// field is an entry of gHotSpotVMStructs: the offset in its type, the address of a static one; short if it has
// 16 bits.
type field struct {
	offset, address uint64
	short           bool
}

// layout is what the two tables say, of the fields and types that are asked for.
type layout struct {
	fields map[string]field // by "Type::field"
	sizes  map[string]uint64
}

// The bounds of a blob's code: addresses up to JDK 22, distances from its header (codeBlob.hpp, code_begin and
// code_end) in later ones.
var (
	wantAddresses = []string{"CodeBlob::_code_begin", "CodeBlob::_code_end"}
	wantDistances = []string{"CodeBlob::_code_offset", "CodeBlob::_data_offset"}
)

// want are the fields that are needed besides, wantSizes the types.
var want = []string{
	"CodeCache::_heaps", "GrowableArrayBase::_len", "GrowableArray<int>::_data",
	"CodeHeap::_memory", "CodeHeap::_segmap", "CodeHeap::_log2_segment_size", "VirtualSpace::_low", "VirtualSpace::_high",
	"HeapBlock::_header", "HeapBlock::Header::_used",
	"CodeBlob::_name", "CodeBlob::_frame_size", "CodeBlob::_frame_complete_offset",
	"AbstractInterpreter::_code", "StubQueue::_stub_buffer", "StubQueue::_buffer_limit",
	"InterpreterCodelet::_size", "InterpreterCodelet::_description",
}

var wantSizes = []string{"HeapBlock", "InterpreterCodelet"}

// pageSize is the unit in which the tables and their names are read, maxPages how many are kept.
const (
	pageSize = 4096
	maxPages = 1024
)

// byPages gives a function that reads as read does, page by page, and keeps the pages: the tables
// have some thousand entries, and each three names.
func byPages(read func(uint64, []byte) int) func(uint64, []byte) int {
	pages := map[uint64][]byte{}
	return func(addr uint64, b []byte) (done int) {
		for done < len(b) {
			at := addr + uint64(done)
			start := at &^ (pageSize - 1)
			page, ok := pages[start]
			if !ok {
				if len(pages) >= maxPages {
					clear(pages)
				}
				page = make([]byte, pageSize)
				page = page[:max(read(start, page), 0)]
				pages[start] = page
			}
			if at-start >= uint64(len(page)) {
				break
			}
			done += copy(b[done:], page[at-start:])
		}
		return done
	}
}

// readLayout reads the tables; false if they lack something, as those of other releases may.
func readLayout(read func(uint64, []byte) int, symbol func(string) (uint64, bool)) (*layout, bool) {
	m := &memory{read: byPages(read)}
	l := &layout{fields: map[string]field{}, sizes: map[string]uint64{}}
	at := func(name string) uint64 {
		addr, ok := symbol("gHotSpotVM" + name)
		if !ok {
			m.failed = true
			return 0
		}
		return m.word(addr)
	}
	needed := map[string]bool{}
	for _, name := range slices.Concat(want, wantAddresses, wantDistances) {
		needed[name] = true
	}
	typeOf, nameOf := at("StructEntryTypeNameOffset"), at("StructEntryFieldNameOffset")
	offsetOf, addressOf, kindOf := at("StructEntryOffsetOffset"), at("StructEntryAddressOffset"), at("StructEntryTypeStringOffset")
	m.eachEntry(at("Structs"), at("StructEntryArrayStride"), typeOf, func(entry uint64, typ string) {
		if name := typ + "::" + m.name(m.word(entry+nameOf)); needed[name] {
			kind := m.name(m.word(entry + kindOf))
			l.fields[name] = field{m.word(entry + offsetOf), m.word(entry + addressOf), kind == "int16_t" || kind == "u2"}
		}
	})
	sizeOf := at("TypeEntrySizeOffset")
	m.eachEntry(at("Types"), at("TypeEntryArrayStride"), at("TypeEntryTypeNameOffset"), func(entry uint64, typ string) {
		for _, name := range wantSizes {
			if typ == name {
				l.sizes[name] = m.word(entry + sizeOf)
			}
		}
	})
	return l, !m.failed && l.has(want) && (l.has(wantAddresses) || l.has(wantDistances)) && len(l.sizes) == len(wantSizes)
}

// has reports whether all of these fields are known.
func (l *layout) has(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, ok := l.fields[name]
		return !ok
	})
}

// number reads a field of at most 32 bits.
func (l *layout) number(b []byte, name string) int32 {
	f := l.fields[name]
	if f.short {
		return int32(int16(binary.LittleEndian.Uint16(b[f.offset:])))
	}
	return int32At(b[f.offset:])
}

// eachEntry calls f for the entries of a table, which ends with one without a name.
func (m *memory) eachEntry(table, stride, nameAt uint64, f func(entry uint64, name string)) {
	if stride == 0 || stride > maxStride {
		m.failed = true
	}
	for i := uint64(0); i < maxEntries && !m.failed; i++ {
		entry := table + i*stride
		name := m.word(entry + nameAt)
		if name == 0 {
			return
		}
		f(entry, m.name(name))
	}
}

// off gives the offset of a field in its type.
func (l *layout) off(name string) uint64 { return l.fields[name].offset }

// static gives the address of a static field.
func (l *layout) static(name string) uint64 { return l.fields[name].address }
