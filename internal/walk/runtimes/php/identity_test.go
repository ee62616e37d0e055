// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"maps"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type memory map[uint64]uint64

func (m memory) Word(addr uint64) (uint64, bool) {
	v, ok := m[addr]
	return v, ok
}

func (m memory) Read(addr uint64, b []byte) int {
	for i := range b {
		word, ok := m[(addr+uint64(i))&^7]
		if !ok {
			return i
		}
		b[i] = byte(word >> (8 * ((addr + uint64(i)) & 7)))
	}
	return len(b)
}

func (memory) Cut(uint64) bool { return false }
func (memory) Unchanged() bool { return false }

func (m memory) put(addr uint64, b []byte) {
	for i := 0; i < len(b)+1; i += 8 {
		var word [8]byte
		copy(word[:], b[min(i, len(b)):])
		m[addr+uint64(i)] = binary.LittleEndian.Uint64(word[:])
	}
}

// hashed is [hashOf] of ASCII text; other text has its hash in the tests.
func (m memory) text(addr uint64, s string, hashed bool) {
	m[addr], m[addr+textHash], m[addr+textLength] = typeText<<32|1<<36|1, 0, uint64(len(s))
	if hashed {
		m[addr+textHash] = hashOf([]byte(s), false)
	}
	m.put(addr+textContent, []byte(s))
}

const (
	aGlobals = 0x7f0000001000
	aCall    = 0x7f0000002000
	aFunc    = 0x7f0000003000
	aName    = 0x7f0000004000
	aFile    = 0x7f0000005000
	aOpcodes = 0x7f0000006000
	aFree    = 0x7f0000007000
)

func oneCall(name string) (memory, *Runtime) {
	l, _ := layoutOf(804)
	r := &Runtime{layout: l, globals: aGlobals}
	m := memory{aGlobals + uint64(l.current): aCall}
	info := uint64(callTop)
	if name == "" {
		info = callCode
	}
	m[aCall], m[aCall+callFunc], m[aCall+callInfo], m[aCall+callPrev] = aOpcodes, aFunc, info, 0
	for i := int64(0); i < l.headSize; i += 8 {
		m[aFunc+uint64(i)] = 0
	}
	m[aFunc], m[aFunc+uint64(l.opcodes)], m[aFunc+uint64(l.file)] = typeUser, aOpcodes, aFile
	m[aFunc+uint64(l.last)], m[aFunc+uint64(l.lines)] = 2, 1|9<<32
	if name != "" {
		m[aFunc+funcName] = aName
		m.text(aName, name, false)
	}
	m.text(aFile, "/a/chain.php(53) : eval()'d code", false)
	for i := uint64(0); i < 2*opSize; i += 8 {
		m[aOpcodes+i] = 0
	}
	m[aOpcodes+opLine], m[aOpcodes+opSize+opLine] = 3, 4
	return m, r
}

func named(t *testing.T, r *Runtime, copied, now memory) string {
	t.Helper()
	r.thread = 7
	r.Begin(&managed.Sample{InnerTID: 7, Regs: &frames.Regs{Arch: frames.X86_64}, Mem: copied, At: 1, Live: now})
	switch {
	case len(r.walk.calls) == 0 || r.walk.broken:
		return ""
	case r.walk.calls[0].function == nil:
		return "[freed]"
	}
	return r.walk.calls[0].function.name
}

// free writes what the allocator of 8.4 does (zend_mm_set_next_free_slot, Zend/zend_alloc.c).
func (m memory) free(addr, size uint64) {
	m[addr], m[addr+size-8] = aFree, 0x6a9f1234c0ffee11
}

func TestFunctionsFreedDuringTheStopHaveNoName(t *testing.T) {
	const eval = "chain.php(53) : eval()'d code"
	for _, c := range []struct {
		what, name, want string
		free             func(m memory)
	}{
		{"evaluated code", "", eval, func(memory) {}},
		{"its file's text", "", "[freed]", func(m memory) { m.free(aFile, 56) }},
		{"its file's text, the last of a page", "", "[freed]", func(m memory) { m.free(aFile, 56); m[aFile] = 0 }},
		{"its file's text, released", "", "[freed]", func(m memory) { m[aFile] &^= 1<<32 - 1 }},
		{"its op array", "", "[freed]", func(m memory) { m.free(aFunc, 256) }},
		{"a function", "named", "named", func(memory) {}},
		{"its opcodes, as a trampoline's", "named", "[freed]", func(m memory) { m[aFunc+96] = 0 }},
		{"its name", "named", "[freed]", func(m memory) { m.free(aName, 32) }},
		{"its op array", "named", "", func(m memory) { m.free(aFunc, 256) }},
		{"its opcodes, used again", "named", "[freed]", func(m memory) { m[aOpcodes+opSize+opLine] = 12 }},
	} {
		m, r := oneCall(c.name)
		c.free(m)
		if got := named(t, r, m, m); got != c.want {
			t.Errorf("freed %s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestAFunctionThatIsGoneWhenItIsReadIsFreed(t *testing.T) {
	copied, r := oneCall("named")
	now := maps.Clone(copied)
	now.free(aFunc, 256)
	if got := named(t, r, copied, now); got != "[freed]" {
		t.Errorf("the function is %q", got)
	}
	if got := named(t, r, copied, copied); got != "named" || r.walk.calls[0].function.line(1) != 3 {
		t.Errorf("the same function while it is there: %q", got)
	}
	if got := named(t, r, copied, now); got != "named" {
		t.Errorf("the same function, read before: %q", got)
	}
}

// The hashes are those of the engine of both architectures, computed by hand from Zend/zend_string.h.
func TestNamesThatAreNotASCIIHaveTheHashOfTheArchitecture(t *testing.T) {
	for _, c := range []struct {
		text       string
		x86, arm64 uint64
	}{
		{"abc", 1<<63 + 193485963, 1<<63 + 193485963},
		{"\xff", 1<<63 + 5381*33 - 1, 1<<63 + 5381*33 + 255},
		{"é", 1<<63 + (5381*33-61)*33 - 87, 1<<63 + (5381*33+195)*33 + 169},
	} {
		for _, signed := range []bool{true, false} {
			want := c.arm64
			if signed {
				want = c.x86
			}
			for _, hash := range []uint64{want, 0, c.x86 ^ c.arm64 ^ want} {
				m, r := oneCall(c.text)
				r.signedChar = signed
				m[aName+textHash] = hash
				name := c.text
				if hash != 0 && hash != want {
					name = "[freed]"
				}
				if got := named(t, r, m, m); got != name {
					t.Errorf("signed char %t, hash %#x: %q, want %q", signed, hash, got, name)
				}
			}
		}
	}
}

func TestLongNamesAreNamed(t *testing.T) {
	long := strings.Repeat("Long", maxName/4)
	for _, name := range []string{long, long + "er", long + long} {
		m, r := oneCall(name)
		if got := named(t, r, m, m); got != name {
			t.Errorf("%d bytes: %q", len(name), got)
		}
		now := maps.Clone(m)
		now.text(aName, "An"+name[2:], false)
		r.Forget()
		if got := named(t, r, m, now); got != "[freed]" {
			t.Errorf("%d bytes, changed since: %q", len(name), got)
		}
	}
}

func TestTextsThatChangeAfterTheStopGiveNoName(t *testing.T) {
	for _, hashed := range []bool{false, true} {
		copied, r := oneCall("first")
		copied.text(aName, "first", hashed)
		if got := named(t, r, copied, copied); got != "first" {
			t.Errorf("%q", got)
		}
		now := maps.Clone(copied)
		now.text(aName, "other", hashed)
		if got := named(t, r, now, now); got != "other" {
			t.Errorf("another one at the same address: %q", got)
		}
		r.Forget()
		if got := named(t, r, copied, now); got != "[freed]" {
			t.Errorf("changed since: %q", got)
		}
	}
}
