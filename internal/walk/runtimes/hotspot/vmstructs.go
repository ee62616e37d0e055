// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const (
	maxEntries = 1 << 14
	maxStride  = 256 // bytes
	maxName    = 64
	maxHeaps   = 16
	maxOffset  = 1 << 15 // of a known field, bytes
)

// field is an entry of gHotSpotVMStructs.
type field struct {
	offset, address uint64
	size            uint8 // bytes of a number; else 8
	handle          bool  // an OopHandle: the address of a reference
}

type layout struct {
	fields map[string]field // by "Type::field"
	sizes  map[string]uint64
	bounds []string
	heaps  []string
}

var wantFields = []string{
	"CodeHeap::_memory", "CodeHeap::_segmap", "CodeHeap::_log2_segment_size", "VirtualSpace::_low", "VirtualSpace::_high",
	"HeapBlock::_header", "HeapBlock::Header::_used",
	"CodeBlob::_name", "CodeBlob::_frame_size", "CodeBlob::_frame_complete_offset",
	"AbstractInterpreter::_code", "StubQueue::_stub_buffer", "StubQueue::_buffer_limit",
	"InterpreterCodelet::_size", "InterpreterCodelet::_description",
}

// Alternatives; the first complete set counts.
var (
	// Addresses in JDK 9 to 22, else offsets from the header (codeBlob.hpp, code_begin and code_end).
	wantBounds = [][]string{
		{"CodeBlob::_code_begin", "CodeBlob::_code_end"},
		{"CodeBlob::_code_offset", "CodeBlob::_data_offset"},
	}
	// A list of heaps (growableArray.hpp); one in JDK 8.
	wantHeaps = [][]string{
		{"CodeCache::_heaps", "GrowableArrayBase::_len", "GrowableArray<int>::_data"},    // since 16
		{"CodeCache::_heaps", "GenericGrowableArray::_len", "GrowableArray<int>::_data"}, // 9 to 15
		{"CodeCache::_heap"}, // 8
	}
)

// renamed has earlier names of fields.
var renamed = map[string]string{
	"CompiledMethod::_method": "nmethod::_method", "ConstMethod::_flags": "ConstMethod::_flags._flags",
	"oopDesc::_compressed_klass":                    "oopDesc::_metadata._compressed_klass",
	"Thread::_osthread":                             "JavaThread::_osthread",
	"CollectedHeap::_is_gc_active":                  "CollectedHeap::_is_stw_gc_active",
	"CompressedOops::_narrow_oop._base":             "CompressedOops::_base",
	"CompressedOops::_narrow_oop._shift":            "CompressedOops::_shift",
	"Universe::_narrow_oop._base":                   "CompressedOops::_base",
	"Universe::_narrow_oop._shift":                  "CompressedOops::_shift",
	"CompressedKlassPointers::_narrow_klass._base":  "CompressedKlassPointers::_base",
	"CompressedKlassPointers::_narrow_klass._shift": "CompressedKlassPointers::_shift",
	"Universe::_narrow_klass._base":                 "CompressedKlassPointers::_base",
	"Universe::_narrow_klass._shift":                "CompressedKlassPointers::_shift",
	"Thread::_current_pending_monitor":              "JavaThread::_current_pending_monitor",
	"Thread::_current_waiting_monitor":              "JavaThread::_current_waiting_monitor",
}

var wantSizes = []string{"HeapBlock", "InterpreterCodelet"}

func readLayout(h managed.Host, lib *frames.Module) (*layout, error) {
	var pages managed.Pages
	pages.Reset(h)
	m := &memory{from: &pages}
	l := &layout{fields: map[string]field{}, sizes: map[string]uint64{}}
	missing := false
	at := func(name string) uint64 {
		addr, _, ok := h.Symbol(lib, "gHotSpotVM"+name)
		if !ok {
			missing = true
			m.fail("gHotSpotVM"+name, 0, "the file has no such symbol")
			return 0
		}
		return m.word(addr)
	}
	needed := map[string]bool{}
	wanted := slices.Concat(wantFields, slices.Concat(wantBounds...), slices.Concat(wantHeaps...), nameFields())
	for _, name := range wanted {
		needed[name] = true
	}
	typeOf, nameOf := at("StructEntryTypeNameOffset"), at("StructEntryFieldNameOffset")
	offsetOf, addressOf, kindOf := at("StructEntryOffsetOffset"), at("StructEntryAddressOffset"),
		at("StructEntryTypeStringOffset")
	m.eachEntry(at("Structs"), at("StructEntryArrayStride"), typeOf, func(entry uint64, typ string) {
		name := typ + "::" + m.name(m.word(entry+nameOf))
		if later := renamed[name]; later != "" && !l.has([]string{later}) {
			name = later
		}
		if offset := m.word(entry + offsetOf); needed[name] && offset <= maxOffset {
			kind := m.name(m.word(entry + kindOf))
			l.fields[name] = field{offset, m.word(entry + addressOf), sizeOf(kind), kind == "OopHandle"}
		}
	})
	typeSizeOf, sizes := at("TypeEntrySizeOffset"), slices.Concat(wantSizes, nameSizes())
	m.eachEntry(at("Types"), at("TypeEntryArrayStride"), at("TypeEntryTypeNameOffset"), func(entry uint64, typ string) {
		if slices.Contains(sizes, typ) {
			l.sizes[typ] = m.word(entry + typeSizeOf)
		}
	})
	l.bounds, l.heaps = l.firstComplete(wantBounds), l.firstComplete(wantHeaps)
	if m.err != nil {
		return nil, &UnknownError{Reason: "its tables (gHotSpotVMStructs) cannot be read", NotYet: !missing}
	}
	if lacks := l.missing(wantFields, wantSizes, wantBounds, wantHeaps); lacks != "" {
		return nil, &UnknownError{Reason: "its tables do not have " + lacks}
	}
	return l, nil
}

// missing names what the tables lack of fields, sizes and sets of alternatives, or returns "".
func (l *layout) missing(names, sizes []string, alternatives ...[][]string) string {
	for _, name := range names {
		if !l.has([]string{name}) {
			return name
		}
	}
	for _, name := range sizes {
		if l.sizes[name] == 0 {
			return "the size of " + name
		}
	}
	for _, sets := range alternatives {
		if l.firstComplete(sets) == nil {
			return strings.Join(slices.Concat(sets...), " or ")
		}
	}
	return ""
}

func (l *layout) firstComplete(sets [][]string) []string {
	if i := slices.IndexFunc(sets, l.has); i >= 0 {
		return sets[i]
	}
	return nil
}

func (l *layout) has(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, ok := l.fields[name]
		return !ok
	})
}

func (l *layout) number(b []byte, name string) int32 {
	f := l.fields[name]
	if f.size == 2 {
		return int32(int16(binary.LittleEndian.Uint16(b[f.offset:])))
	}
	return int32At(b[f.offset:])
}

func (m *memory) eachEntry(table, stride, nameAt uint64, f func(entry uint64, name string)) {
	if table == 0 || stride == 0 || stride > maxStride {
		m.fail("table of types or fields", table, "it is null, or has no size of an entry")
	}
	for i := uint64(0); i < maxEntries && m.err == nil; i++ {
		entry := table + i*stride
		name := m.word(entry + nameAt)
		if name == 0 {
			return
		}
		f(entry, m.name(name))
	}
}

func (l *layout) offset(name string) uint64 { return l.fields[name].offset }

func (l *layout) staticAddress(name string) uint64 { return l.fields[name].address }

func (l *layout) in(b []byte, name string) uint64 { return l.fields[name].in(b) }

func (f field) in(b []byte) uint64 {
	if f.offset+8 > uint64(len(b)) {
		return 0
	}
	switch w := wordAt(b[f.offset:]); f.size {
	case 1:
		return w & 0xff
	case 2:
		return w & 0xffff
	case 4:
		return w & 0xffffffff
	default:
		return w
	}
}

// sizeOf returns the size in bytes of a C++ type, 8 unless it is listed here. A new type of fewer bytes must be added.
func sizeOf(typ string) uint8 {
	switch typ {
	case "int", "jint", "u4", "unsigned int", "uint32_t", "OSThread::thread_id_t", "pid_t", "JavaThreadState",
		"const uint":
		return 4
	case "u2", "int16_t", "unsigned short", "short":
		return 2
	case "u1", "CompLevel", "bool", "volatile signed char", "volatile unsigned char", "unsigned char":
		return 1
	}
	return 8
}
