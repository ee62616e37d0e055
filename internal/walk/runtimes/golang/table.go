// SPDX-License-Identifier: Apache-2.0

package golang

import (
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
	// Data is searched for moduledata.
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
	t.rules = rules{funcs: f, decoder: &t.gOffsetsDecoder, flows: map[uint64]*stackFlow{}}
	return t, nil
}
