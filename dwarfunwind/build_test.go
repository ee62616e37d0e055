// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

type builder struct {
	addr    uint64
	debug   bool // .debug_frame
	wide    bool // 64-bit DWARF
	version uint8
	aug     string
	augData []byte
	initial []byte
	ra      uint8
	out     []byte
	cie     uint64
}

const (
	testStart = 0x1000
	testLen   = 0x100
)

// CFA is rsp+8, the return address lies at CFA−8.
var x86Initial = []byte{cfaDefCFA, 7, 8, cfaOffset | 16, 1}

func newBuilder() *builder {
	return &builder{addr: 0x5000, version: 1, initial: x86Initial, ra: 16}
}

func le(size int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(nil, v)[:size]
}

func (b *builder) entry(id uint64, body []byte) {
	idSize := 4
	if b.wide && b.debug {
		idSize = 8
	}
	if b.wide {
		b.out = append(b.out, 0xff, 0xff, 0xff, 0xff)
		b.out = append(b.out, le(8, uint64(idSize+len(body)))...)
	} else {
		b.out = append(b.out, le(4, uint64(4+len(body)))...)
	}
	if !b.debug && id != 0 {
		id = uint64(len(b.out)) - b.cie
	}
	b.out = append(b.out, le(idSize, id)...)
	b.out = append(b.out, body...)
}

func (b *builder) addCIE() *builder {
	b.cie = uint64(len(b.out))
	body := []byte{b.version}
	body = append(append(body, b.aug...), 0)
	if b.version >= 4 {
		body = append(body, 8, 0)
	}
	body = append(body, 1, 0x78, b.ra) // factors 1 and −8
	if b.aug != "" {
		body = append(body, byte(len(b.augData)))
		body = append(body, b.augData...)
	}
	id := uint64(0)
	if b.debug {
		id = ^uint64(0)
	}
	b.entry(id, append(body, b.initial...))
	return b
}

func (b *builder) addFDE(start, size uint64, prog ...byte) *builder {
	return b.addRaw(append(le(8, start), le(8, size)...), prog...)
}

func (b *builder) addRaw(code []byte, prog ...byte) *builder {
	if b.aug != "" {
		code = append(code, 0)
	}
	id := b.cie
	if !b.debug {
		id = 1 // any value but a CIE's; entry computes it
	}
	b.entry(id, append(code, prog...))
	return b
}

func (b *builder) table(t testing.TB, arch frames.Arch) *Table {
	t.Helper()
	cfg := Config{Arch: arch, EhFrame: NewSection(b.addr, b.out)}
	if b.debug {
		cfg = Config{Arch: arch, DebugFrame: NewSection(0, b.out)}
	}
	table, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func rowAt(t testing.TB, table *Table, pc uint64) (frames.Rule, frames.Row) {
	t.Helper()
	rule, row, ok := table.Rule(frames.Query{PC: pc})
	if !ok {
		t.Fatalf("no rule for %#x", pc)
	}
	if row != nil {
		return rule, *row
	}
	return rule, table.machine.row
}
