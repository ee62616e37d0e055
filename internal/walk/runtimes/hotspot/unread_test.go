// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

// The thread by which memory is read may have ended.
func TestAnswerWithoutReadableMemoryIsAskedAgain(t *testing.T) {
	f := newFake()
	method := f.blob("nmethod", 6, 5, methodCode)
	_, bytecode := interpreterAt(f)
	for name, c := range map[string]struct{ pc, unreadable, size uint64 }{
		"list of heaps":       {method + 6, staticsAt, 8},
		"heap":                {method + 6, heapAt + 0x200, 0x100},
		"segment map":         {method + 6, segmapAt, 0x1000},
		"blob":                {method + 6, method - 96, 96},
		"queue of codelets":   {bytecode + 1, stubsAt, 16},
		"header of codelets":  {bytecode + 1, f.word(stubsAt), 16},
		"name of the codelet": {bytecode + 1, f.word(bytecode - 32 + 8), 5},
	} {
		v := f.open(t)
		if v.heapOf(method) == nil {
			t.Fatalf("%s: not proven", name)
		}
		v.heaps = nil
		failing := true
		v.readBy(func(addr uint64, b []byte) int {
			if failing && addr < c.unreadable+c.size && c.unreadable < addr+uint64(len(b)) {
				return 0
			}
			return f.read(addr, b)
		})
		q := frames.Query{PC: c.pc, AfterCall: c.pc == method+6}
		if _, _, ok := v.Rule(q); ok {
			t.Errorf("%s: a rule without reading it", name)
		}
		failing = false
		if !v.Changed() {
			t.Errorf("%s: the answer without it is kept", name)
		}
		if _, _, ok := v.Rule(q); !ok {
			t.Errorf("%s: no rule once it can be read", name)
		}
		if v.Changed() {
			t.Errorf("%s: changed once more", name)
		}
	}
}
