// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"errors"

	"prywalk/frames"
)

// Errors of [New]; the returned error wraps one of them.
var (
	// ErrNoTable: the bytes do not begin with a header of Go 1.2 or later.
	ErrNoTable = errors.New("no Go function table")
	// ErrMalformed: the header contradicts itself or the section's size.
	ErrMalformed = errors.New("malformed Go function table")
	// ErrNoText: nothing tells where the program text starts.
	ErrNoText = errors.New("start of the Go text not found")
)

// Range is a piece of the address space of an ELF file.
type Range struct{ Addr, Size uint64 }

// Image is what [New] needs to know of a module. All addresses are those of the
// ELF file, without load bias.
type Image struct {
	// Arch is the machine that the code is for.
	Arch frames.Arch
	// Pclntab holds the contents of .gopclntab (.data.rel.ro.gopclntab in
	// older PIEs), from its first byte on. It may be longer than the table.
	Pclntab []byte
	// PclntabAddr is the address of its first byte.
	PclntabAddr uint64
	// TextStart is the value of the symbol runtime.text, 0 if there is none. It
	// is not always the start of .text (cgo).
	TextStart uint64
	// Data lists where the moduledata may lie: .go.module (Go 1.26), else
	// .noptrdata, .data, .data.rel.ro; or the writable segments.
	Data []Range
	// Rela holds the dynamic relocations of a PIE (.rela.dyn, .rela), which may
	// be the only place that tells the pointers in its data. May be nil.
	Rela []byte
	// Read copies file contents at an address into buf and gives the count.
	// Bytes beyond the file contents of a segment need not be given.
	Read func(addr uint64, buf []byte) int
}

// read fills buf whole or reports false.
func (im *Image) read(addr uint64, buf []byte) bool {
	return im.Read != nil && im.Read(addr, buf) == len(buf)
}

// relative gives the relocation type whose value is bias + addend (System V ABI
// AMD64 supplement table 4.9; ELF for the Arm 64-bit Architecture §5.7.14).
func relative(a frames.Arch) uint64 {
	if a == frames.AArch64 {
		return 1027
	}
	return 8
}
