// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"errors"
	"fmt"

	"prywalk/frames"
)

// Errors that [New] wraps.
var (
	// errNoTable means no header of Go 1.2 or later.
	errNoTable = errors.New("no Go function table")
	// errMalformed means a header that contradicts itself or the section.
	errMalformed = errors.New("malformed Go function table")
	// errNoText means that the start of the text is unknown.
	errNoText = errors.New("start of the Go text not found")
)

// Range is a range of file addresses.
type Range struct{ Addr, Size uint64 }

// Image is a module for [New], in file addresses.
type Image struct {
	Arch frames.Arch
	// Pclntab is the section .gopclntab (older PIEs: .data.rel.ro.gopclntab).
	Pclntab     []byte
	PclntabAddr uint64
	// TextStart is the address of runtime.text, with cgo not that of .text, or 0.
	TextStart uint64
	// Data, the writable segments, is searched for moduledata.
	Data []Range
	// Rela are the dynamic relocations of a PIE.
	Rela []byte
	Read func(addr uint64, buf []byte) int
}

func (im *Image) read(addr uint64, buf []byte) bool {
	return im.Read != nil && im.Read(addr, buf) == len(buf)
}

// relative is the relocation of value bias + addend (System V ABI AMD64 table 4.9; ELF for the Arm 64-bit
// Architecture §5.7.14).
func relative(a frames.Arch) uint64 {
	if a == frames.ARM64 {
		return 1027
	}
	return 8
}

// Table is the function table of a module, a [frames.RuleSource]. Not safe for concurrent use.
type Table struct {
	funcs
	lines
	gOffsetsDecoder
	rules
	leavers map[uint64]bool // functions by entry ([Table.leaves])
	bss     Range           // of variables with pointers, without initial value; empty if unknown
}

// New opens a table; errors wrap errNoTable, errMalformed or errNoText. The table keeps im
// without Rela.
func New(im Image) (*Table, error) {
	h, err := parseHeader(im.Pclntab, im.Arch)
	if err != nil {
		return nil, err
	}
	t := &Table{funcs: funcs{img: im, h: h}}
	f := &t.funcs
	mod, _ := (&moduleScan{funcs: f}).findModuledata()
	f.img.Rela = nil
	if h.foreign && mod.text == 0 {
		return nil, fmt.Errorf("magic % x, and no module data that refer to the table: %w", im.Pclntab[:4], errNoTable)
	}
	switch {
	case im.TextStart != 0:
		t.text = im.TextStart
	case mod.text != 0:
		t.text = mod.text
	default:
		t.text = h.textStart // 0 in the file of a PIE
	}
	if t.text == 0 && h.nfunc > 0 {
		return nil, fmt.Errorf("table at %#x: %w; pass the data sections or the symbol runtime.text", im.PclntabAddr,
			errNoText)
	}
	f.namesByID = h.foreign && f.knowsIDs()
	if mod.ebss > mod.bss {
		t.bss = Range{mod.bss, mod.ebss - mod.bss}
	}
	t.lines, t.gOffsetsDecoder = lines{f, mod.gofunc}, gOffsetsDecoder{funcs: f}
	t.leavers = map[uint64]bool{}
	t.rules = rules{funcs: f, decoder: &t.gOffsetsDecoder}
	return t, nil
}

const maxSteps = 1 << 20

// steps decodes pairs of a zigzag value delta and a pc delta (runtime/symtab.go, step).
type steps struct {
	b       []byte
	quantum uint64
	// val holds for pcs in [start, pc).
	start, pc uint64
	val       int32
	n         int
}

func (t *funcs) steps(off uint32, entry uint64) steps {
	s := steps{quantum: t.h.quantum, start: entry, pc: entry, val: -1}
	if off != 0 && uint64(off) < uint64(len(t.h.pctab)) {
		s.b = t.h.pctab[off:]
	}
	return s
}

func (s *steps) next() bool {
	dv, ok := s.uvarint()
	if !ok || dv == 0 && s.n != 0 || s.n >= maxSteps {
		return false
	}
	dpc, ok := s.uvarint()
	if !ok {
		return false
	}
	s.n++
	s.val += int32(dv>>1) ^ -int32(dv&1)
	s.start = s.pc
	s.pc += uint64(dpc) * s.quantum
	return true
}

func (s *steps) uvarint() (uint32, bool) {
	v, n := binary.Uvarint(s.b[:min(len(s.b), binary.MaxVarintLen32)])
	if n <= 0 {
		return 0, false
	}
	s.b = s.b[n:]
	return uint32(v), true
}

func (t *funcs) pcvalue(f *funcInfo, off uint32, pc uint64) (int32, bool) {
	s := t.steps(off, f.entry)
	for s.next() {
		if pc < s.pc {
			return s.val, true
		}
		if s.pc >= f.end {
			break
		}
	}
	return 0, false
}

func (t *funcs) pcdata(f *funcInfo, table uint32, pc uint64) (int32, bool) {
	if table >= f.npcdata || uint64(len(f.tail)) < 4*uint64(table)+4 {
		return 0, false
	}
	return t.pcvalue(f, binary.LittleEndian.Uint32(f.tail[4*table:]), pc)
}
