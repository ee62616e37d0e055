// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"prywalk/frames"
	"prywalk/internal/base/wire"
)

const (
	magic   = "PWSTACK1"
	numRegs = 16
	maxFile = 1 << 30
)

// Module is a mapping of executable code from a file.
type Module struct {
	// Start and End are run-time addresses, End excluded; Bias is added to the file's own.
	Start, End, Bias uint64
	Path             string
}

// Stack is a thread's registers and stack at one moment.
type Stack struct {
	Regs frames.Regs
	// Addr is the address of the first of Bytes, at or somewhat below the stack pointer.
	Addr  uint64
	Bytes []byte
	PCs   []uint64 // true chain, innermost first
}

// File is the stacks of one process.
type File struct {
	Modules []Module
	Stacks  []Stack
}

// Frames returns the number of frames of all stacks.
func (f *File) Frames() int {
	n := 0
	for i := range f.Stacks {
		n += len(f.Stacks[i].PCs)
	}
	return n
}

// Write writes a file.
func (f *File) Write(w io.Writer) error {
	b := []byte(magic)
	b = number(b, len(f.Modules))
	for _, m := range f.Modules {
		b = words(b, m.Start, m.End, m.Bias)
		b = append(number(b, len(m.Path)), m.Path...)
	}
	b = number(b, len(f.Stacks))
	for i := range f.Stacks {
		s := &f.Stacks[i]
		b = words(b, s.Regs.PC)
		b = words(b, s.Regs.Val[:numRegs]...)
		b = words(b, s.Addr)
		b = append(number(b, len(s.Bytes)), s.Bytes...)
		b = words(number(b, len(s.PCs)), s.PCs...)
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("writing recorded stacks: %w", err)
	}
	return nil
}

func number(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

func words(b []byte, ws ...uint64) []byte {
	for _, w := range ws {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// ErrFormat means another format, or a truncated file.
var ErrFormat = errors.New("not a file of recorded stacks, or a damaged one")

// Read reads a file.
func Read(r io.Reader) (*File, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile))
	if err != nil {
		return nil, fmt.Errorf("reading recorded stacks: %w", err)
	}
	c := cursor{wire.Cursor{Bytes: b}}
	if string(c.Take(uint64(len(magic)))) != magic {
		return nil, ErrFormat
	}
	f := &File{}
	for range c.count(3*8 + 4) {
		m := Module{Start: c.U64(), End: c.U64(), Bias: c.U64()}
		m.Path = string(c.Take(uint64(c.count(1))))
		f.Modules = append(f.Modules, m)
	}
	for range c.count((numRegs+2)*8 + 8) {
		f.Stacks = append(f.Stacks, c.stack())
	}
	if c.Bad || c.Left() != 0 {
		return nil, ErrFormat
	}
	return f, nil
}

func (c *cursor) stack() Stack {
	s := Stack{Regs: frames.Regs{Arch: frames.X86_64, PC: c.U64()}}
	for i := range uint8(numRegs) {
		s.Regs.Set(i, c.U64())
	}
	s.Addr = c.U64()
	s.Bytes = c.Take(uint64(c.count(1)))
	for range c.count(8) {
		s.PCs = append(s.PCs, c.U64())
	}
	return s
}

type cursor struct{ wire.Cursor }

func (c *cursor) count(size int) int {
	n := int(c.U32())
	if n > c.Left()/size {
		c.Fail()
		return 0
	}
	return n
}
