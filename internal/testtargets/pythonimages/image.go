// SPDX-License-Identifier: Apache-2.0

// Package pythonimages has images of interpreters, for tests of builds that a machine lacks, and of damaged memory. The
// tests of package live make them.
package pythonimages

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes/cpython"
)

// Image is a recorded interpreter. It implements [managed.Host], [managed.Live] and [frames.Memory].
type Image struct {
	What      string
	TID       int
	TLS, PC   uint64
	Registers []uint64 // by DWARF number
	Mapped    []Module
	Names     map[string]Symbol // by module and name
	Natives   []Native          // innermost first
	Memory    []frames.Region   // by address
	Calls     []Call            // of Python, outermost first, by the program
	Thread    string

	modules []*frames.Module
}

// Module is a mapping of code.
type Module struct {
	Name             string
	Start, End, Bias uint64
	Generated        bool
}

// Symbol is an answer of [managed.Host.Symbol].
type Symbol struct{ At, Size uint64 }

// Native is a native frame, with the stack pointer of its caller.
type Native struct {
	PC, SP, CFA uint64
	Caller      bool
	Module      int // of Mapped; −1: none
}

// Call is a Python function and its running line.
type Call struct {
	Function string
	Line     int
}

// Read implements [managed.Host]. Unrecorded words of a page ([managed.Pages]) are 0.
func (img *Image) Read(addr uint64, b []byte) (n int) {
	if len(b) == pageSize && addr%pageSize == 0 {
		return img.readPage(addr, b)
	}
	for n < len(b) {
		at := addr + uint64(n)
		i, found := slices.BinarySearchFunc(img.Memory, at, compare)
		if !found {
			break
		}
		n += copy(b[n:], img.Memory[i].Bytes[at-img.Memory[i].Addr:])
	}
	return n
}

const pageSize = 4096

func (img *Image) readPage(addr uint64, b []byte) (n int) {
	clear(b)
	for i := range img.Memory {
		r := &img.Memory[i]
		if end := r.Addr + uint64(len(r.Bytes)); r.Addr < addr+pageSize && end > addr {
			first := max(r.Addr, addr)
			copy(b[first-addr:], r.Bytes[first-r.Addr:])
			n = pageSize
		}
	}
	return n
}

func compare(r frames.Region, at uint64) int {
	switch {
	case at < r.Addr:
		return 1
	case at-r.Addr >= uint64(len(r.Bytes)):
		return -1
	}
	return 0
}

// Word implements [frames.Memory].
func (img *Image) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := img.Read(addr, b[:]) == len(b)
	return binary.LittleEndian.Uint64(b[:]), ok
}

// Cut implements [frames.Memory].
func (img *Image) Cut(uint64) bool { return false }

// Unchanged implements [managed.Live].
func (img *Image) Unchanged() bool { return true }

// Arch implements [managed.Host].
func (img *Image) Arch() frames.Arch { return frames.X86_64 }

// CodeAnalysis implements [managed.Host].
func (img *Image) CodeAnalysis() *heuristics.Source { return nil }

// ReadCode implements [managed.Host].
func (img *Image) ReadCode(addr uint64, b []byte) int { return img.Read(addr, b) }

// OwnSymbols implements [managed.Host].
func (img *Image) OwnSymbols(*frames.Module, ...string) []managed.Symbol { return nil }

// Section implements [managed.Host].
func (img *Image) Section(*frames.Module, string) (uint64, []byte, bool) { return 0, nil, false }

// Modules implements [managed.Host].
func (img *Image) Modules() []*frames.Module {
	for i := len(img.modules); i < len(img.Mapped); i++ {
		at := &img.Mapped[i]
		img.modules = append(img.modules, &frames.Module{Name: at.Name, Start: at.Start, End: at.End, Bias: at.Bias,
			Generated: at.Generated})
	}
	return img.modules
}

// Symbol implements [managed.Host].
func (img *Image) Symbol(mod *frames.Module, name string) (addr, size uint64, ok bool) {
	s, ok := img.Names[mod.Name+" "+name]
	return s.At, s.Size, ok
}

// Memory is what an interpreter is read from.
type Memory interface {
	managed.Host
	frames.Memory
	Unchanged() bool
}

// Found is what [Image.Walk] found.
type Found struct {
	Calls  []Call
	Freed  bool
	Health managed.Health
	Thread string
}

// Walk finds the interpreter in mem, and walks and names the image's thread.
func (img *Image) Walk(mem Memory) (f Found, err error) {
	found, err := cpython.Detect(mem)
	if err != nil || found == nil {
		return f, errors.Join(errors.New("no interpreter was found"), err)
	}
	py, regs := found.(managed.FrameSource), &frames.Regs{Arch: frames.X86_64, PC: img.PC, TLS: img.TLS}
	for i, v := range img.Registers {
		regs.Set(uint8(i), v)
	}
	py.Begin(&managed.Sample{InnerTID: img.TID, Regs: regs, Mem: mem, Live: mem})
	var refs []managed.Ref
	modules := img.Modules()
	for _, n := range img.Natives {
		native := frames.Frame{PC: n.PC, SP: n.SP, AfterCall: n.Caller}
		if n.Module >= 0 {
			native.Module = modules[n.Module]
		}
		refs, _ = py.ManagedFrames(&native, n.CFA, refs)
	}
	f.Health = py.End()
	var named []managed.Frame
	for _, ref := range slices.Backward(refs) {
		var truth managed.Certainty
		if named, truth = py.Symbolize(ref, mem, named[:0]); len(named) > 0 {
			f.Calls = append(f.Calls, Call{named[0].Function, named[0].Line})
			f.Freed = f.Freed || truth == managed.Freed
		}
	}
	f.Thread, _ = found.(managed.ThreadNamer).ThreadName(img.TID)
	return f, nil
}

// Decode reads an image.
func Decode(r io.Reader) (*Image, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	m := &Image{}
	return m, json.NewDecoder(z).Decode(m)
}

// Encode writes an image.
func (img *Image) Encode(w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(z).Encode(img), z.Close())
}

// Suffix ends the names of image files.
const Suffix = ".json.gz"
