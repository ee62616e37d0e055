// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type symbolHost struct {
	fakeHost
	symbols []managed.Symbol
}

func (h *symbolHost) OwnSymbols(*frames.Module, ...string) []managed.Symbol { return h.symbols }

// The release is V8 14.6.
func withSymbols(others map[string]int32) *symbolHost {
	values := map[string]int32{symMajor: 14, symMinor: 6}
	for i, name := range []string{"type_JSFunction__JS_FUNCTION_TYPE",
		"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
		"type_Script__SCRIPT_TYPE", "type_ScopeInfo__SCOPE_INFO_TYPE", "type_BytecodeArray__BYTECODE_ARRAY_TYPE",
		"type_Code__CODE_TYPE", "type_InstructionStream__INSTRUCTION_STREAM_TYPE", "type_Map__MAP_TYPE"} {
		values[prefix+name] = int32(200 + i)
	}
	for name, v := range others {
		values[name] = v
	}
	h := &symbolHost{}
	h.at = fakeAt
	for name, v := range values {
		h.symbols = append(h.symbols, managed.Symbol{Name: name, Addr: fakeAt + uint64(len(h.b)), Size: 4})
		h.b = binary.LittleEndian.AppendUint32(h.b, uint32(v))
	}
	return h
}

func TestLayoutOfSymbolsIsKnown(t *testing.T) {
	d, err := describe(withSymbols(map[string]int32{prefix + "SmiShiftSize": 31}), &frames.Module{})
	if err != nil || d.version != (version{14, 6}) || d.types.code != 205 {
		t.Errorf("%+v, %v; want V8 14.6", d, err)
	}
}

// The releases are those of Node 20, 21, 22, 25 and 26. Values are of V8's symbols where it has them.
func TestFieldsOfCodeAreThoseOfTheRelease(t *testing.T) {
	for _, want := range []struct {
		version
		deopt, positions, start, flags, size uint64
		regexp, baseline                     int
	}{
		{version{11, 3}, 16, 24, 40, 48, 56, 3, 11},
		{version{11, 8}, 8, 16, 32, 40, 44, 3, 11},
		{version{12, 4}, 8, 16, 40, 48, 52, 3, 10},
		{version{14, 1}, 8, 16, 40, 52, 56, 3, 10},
		{version{14, 6}, 8, 16, 40, 52, 56, 4, 11},
	} {
		got := want
		l := layoutOf(want.version)
		got.deopt, got.positions, got.start, got.flags, got.size = l.codeDeopt, l.codePositions, l.codeStart, l.codeFlags,
			l.codeSize
		got.regexp, got.baseline = slices.Index(l.kinds[:], kindRegExp), slices.Index(l.kinds[:], kindBaseline)
		if got != want || l.kinds[want.baseline+1] != "maglev" || l.kinds[want.baseline+2] != "turbofan" {
			t.Errorf("V8 %v: %+v, kinds %q; want %+v", want.version, got, l.kinds, want)
		}
	}
}

// Objects are copied in heads of fixed size.
func TestOffsetsBeyondTheCopiedHeadsAreRefused(t *testing.T) {
	for _, name := range []string{"class_Code__instruction_size__int", "class_Code__instruction_start__Address",
		"class_Code__flags__uint32_t", "class_SharedFunctionInfo__function_data__Object",
		"class_SharedFunctionInfo__flags__int", "class_SharedFunctionInfo__script__Tagged_HeapObject_",
		"class_SharedFunctionInfo__name_or_scope_info__Object"} {
		for _, off := range []int32{1000, 62, -8} {
			_, err := describe(withSymbols(map[string]int32{prefix + name: off}), &frames.Module{})
			if err == nil || !strings.Contains(err.Error(), "JavaScript has no names") {
				t.Errorf("%s = %d: error %v, want that JavaScript has no names", name, off, err)
			}
		}
	}
}

func TestCompressedPointersAreRefused(t *testing.T) {
	_, err := describe(withSymbols(map[string]int32{prefix + "SmiShiftSize": 0}), &frames.Module{})
	if err == nil || !strings.Contains(err.Error(), "compressed pointers") {
		t.Errorf("error %v, want one about compressed pointers", err)
	}
}

func TestFirstOfSeveralMissingTypesIsNamed(t *testing.T) {
	for range 20 {
		h := withSymbols(map[string]int32{prefix + "type_Script__SCRIPT_TYPE": 0, prefix + "type_Code__CODE_TYPE": 0,
			prefix + "type_Map__MAP_TYPE": 0})
		_, err := describe(h, &frames.Module{})
		if err == nil || !strings.Contains(err.Error(), "no symbol v8dbg_type_Script;") {
			t.Fatalf("error %v, want that v8dbg_type_Script is missing", err)
		}
	}
}

func TestUnknownReleaseIsNamedBesideTheKnown(t *testing.T) {
	for _, v := range []version{{9, 3}, {14, 7}, {15, 0}} {
		h := withSymbols(map[string]int32{symMajor: int32(v.major), symMinor: int32(v.minor)})
		_, err := describe(h, &frames.Module{})
		want := " is not known (9.4 to 14.6, those of Node 16 to 26, are)"
		if err == nil || !strings.HasPrefix(err.Error(), "V8 "+v.String()) || !strings.Contains(err.Error(), want) {
			t.Errorf("V8 %v: error %v, want one with %q", v, err, want)
		}
	}
	doc, err := os.ReadFile("doc.go")
	known := fmt.Sprintf("V8 %v to %v (Node %d to %d)", oldest, newest, oldestNode, newestNode)
	if err != nil || !strings.Contains(string(doc), known) {
		t.Errorf("doc.go does not name %s (%v)", known, err)
	}
}

type countedReads struct {
	memory
	n *int
}

func (c countedReads) Read(addr uint64, b []byte) int {
	*c.n += len(b)
	return c.memory.Read(addr, b)
}

func TestSliceOfALongStringIsReadAlone(t *testing.T) {
	const parent, slice, mapOfSlice, from = 0x800, 0x700, 0x60, 1 << 20
	b := make([]byte, parent+stringData+from+0x100)
	r := fakeRuntime(version{14, 6}, b)
	fakeFunctions(r, b)
	put(b, mapOfSlice, pointer(0))
	binary.LittleEndian.PutUint16(b[mapOfSlice+instanceType:], oneByteString|slicedString)
	fakeString(b, parent, "")
	binary.LittleEndian.PutUint32(b[parent+stringLength:], from+0x100)
	copy(b[parent+stringData+from:], "name")
	put(b, slice, pointer(mapOfSlice))
	binary.LittleEndian.PutUint32(b[slice+stringLength:], 4)
	put(b, slice+stringData, pointer(parent))
	put(b, slice+stringSecond, from<<32)
	n := 0
	r.heap.live = countedReads{memory{fakeAt, b}, &n}
	text, ok := r.heap.text(pointer(slice))
	if !ok || text != "name" || n > 1<<10 {
		t.Errorf("%q, %v, after %d bytes; want \"name\" after few", text, ok, n)
	}
}
