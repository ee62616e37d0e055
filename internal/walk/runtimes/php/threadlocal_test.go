// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"testing"
)

func TestThreadLocalWordsAreFoundByTheCodeOfTheirOffset(t *testing.T) {
	words := func(list ...uint32) (b []byte) {
		for _, w := range list {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return b
	}
	got := uint64(0)
	read := func(at uint64) uint64 {
		got = at
		return ^uint64(47) // -48
	}
	for _, c := range []struct {
		name   string
		find   func(func(uint64) uint64, uint64, []byte) (int64, bool)
		code   []byte
		offset int64
		at     uint64 // of the GOT entry
	}{
		{"x86 program", threadLocalX86, []byte{0x48, 0xc7, 0xc0, 0xe8, 0xff, 0xff, 0xff, 0xc3}, -24, 0},
		{"x86 library", threadLocalX86, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 5, 0xc1, 0x2e, 0, 0, 0xc3}, -48, 0x3fcc},
		{"x86 none", threadLocalX86, []byte{0x31, 0xc0, 0xc3, 0, 0, 0, 0, 0}, 0, 0},
		{"arm64 program", threadLocalARM64, words(0xaa1f03e0, 0x91400000, 0x91004000, 0xd65f03c0), 16, 0},
		{"arm64 program, far", threadLocalARM64,
			words(0xd503245f, 0xaa1f03e0, 0x91400400, 0x91002000, 0xd65f03c0), 0x1008, 0},
		{"arm64 library", threadLocalARM64, words(0xf00000e0, 0xf947e400, 0xd65f03c0), -48, 0x1000 + 0x1f000 + 4040},
		{"arm64 library, before", threadLocalARM64, words(0xf0ffffe0, 0xf947e400, 0xd65f03c0), -48, 4040},
		{"arm64 none", threadLocalARM64, words(0xd2800000, 0xd65f03c0), 0, 0},
	} {
		got = 0
		offset, ok := c.find(read, 0x1100, c.code)
		if ok != (c.offset != 0) || ok && offset != c.offset || got != c.at {
			t.Errorf("%s: %d, %v, word at %#x; want %d at %#x", c.name, offset, ok, got, c.offset, c.at)
		}
	}
}

func FuzzThreadLocal(f *testing.F) {
	f.Add([]byte{0x40, 0xd0, 0x3b, 0xd5, 0, 0, 0x40, 0xf9})
	f.Fuzz(func(_ *testing.T, code []byte) {
		read := func(at uint64) uint64 { return at }
		threadLocalX86(read, 1<<40, code)
		threadLocalARM64(read, 1<<40, code)
	})
}
