// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prywalk/integration/arm64/recorded"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/core"
)

// stop is a place in a program, with its chain of functions, innermost first. The outer callers are of the C library or
// Go's runtime.
type stop struct {
	name, about, program string
	at                   func(*image) uint64
	chain                []string
}

// Patterns of instructions (Arm ARM, chapter C4.1), as masks and bits.
var (
	pushPair = [2]uint32{0xffc07fff, 0xa9807bfd}
	ret      = [2]uint32{0xffffffff, 0xd65f03c0}
	retaa    = [2]uint32{0xffffffff, 0xd65f0bff}
	callInsn = [2]uint32{0xfc000000, 0x94000000}
)

var stops = []stop{
	{"leaf", "a leaf function without a frame", "cases", func(i *image) uint64 { return i.fn("leaf") + 4 },
		[]string{"leaf", "framed", "main"}},
	{"prologue", "in the middle of a prologue: x29 and x30 are saved, x29 is not set up", "cases",
		func(i *image) uint64 { return i.find("framed", pushPair) + 4 }, []string{"framed", "main"}},
	{"epilogue", "at the return, with the frame popped", "cases",
		func(i *image) uint64 { return i.find("framed", ret) }, []string{"framed", "main"}},
	{"signal", "the handler of a signal that came when a system call returned", "cases",
		func(i *image) uint64 { return i.fn("handler") + 4 }, []string{"handler", "__kernel_rt_sigreturn", "kill",
			"interrupted", "main"}},
	{"pac", "callers with signed return addresses", "cases-pac", func(i *image) uint64 { return i.fn("leaf") },
		[]string{"leaf", "framed", "main"}},
	{"retaa", "at retaa, the signed return address in x30", "cases-pac",
		func(i *image) uint64 { return i.find("framed", retaa) }, []string{"framed", "main"}},
	{"go", "Go: a crash's handler on the signal stack, above a goroutine", "gocase",
		func(i *image) uint64 { return i.fn("main.leaf") },
		[]string{"*", "main.leaf", "main.middle", "main.outer", "main.main", "runtime.main", "runtime.goexit"}},
	{"cold", "a caller in the part that the compiler split off", "cases", func(i *image) uint64 { return i.fn("rare") },
		[]string{"rare", "split", "main"}},
	{"alloca", "a caller with a stack pointer known only at run time", "cases",
		func(i *image) uint64 { return i.fn("inner") + 4 }, []string{"inner", "dynamic", "main"}},
	{"plt", "a stub of the linkage table", "cases-plt",
		func(i *image) uint64 { return i.target(i.find("stub", callInsn)) + 4 }, []string{"strlen@plt", "stub", "main"}},
	{"plt0", "the linkage table's first entry, which calls the resolver", "cases-plt",
		func(i *image) uint64 { return i.plt() + 16 }, []string{"*", "_start"}},
	{"noreturn", "a caller that ends in a call which does not return", "cases",
		func(i *image) uint64 { return i.fn("done") + 4 }, []string{"done", "last", "main"}},
	{"nocfi", "code without call frame information, in the middle of a prologue", "cases-nocfi",
		func(i *image) uint64 { return i.fn("framed") + 8 }, []string{"framed", "main"}},
	{"nocfi-alloca", "a caller without call frame information, with a stack pointer known only at run time",
		"cases-nocfi",
		func(i *image) uint64 { return i.fn("inner") + 4 }, []string{"inner", "dynamic", "main"}},
}

var outer = []string{"__libc_start_call_main", "__libc_start_main_impl", "__libc_start_main", "_start", ""}

func (s *stop) fits(names []string) bool {
	chain := s.chain
	if chain[0] == "*" {
		chain = chain[1:]
		i := slices.Index(names, chain[0])
		if i < 0 {
			return false
		}
		names = names[i:]
	}
	if len(names) < len(chain) || !slices.Equal(names[:len(chain)], chain) {
		return false
	}
	return !slices.ContainsFunc(names[len(chain):], func(n string) bool { return !slices.Contains(outer, n) })
}

func (s *stop) record(t *testing.T, coreFile []byte, c *core.Core, th *stacks.Thread, sysroot, dir string) {
	t.Helper()
	rec := &recorded.Case{About: s.about, Stop: th.StopReason,
		Files: []recorded.File{{Name: recorded.CoreName, Data: coreFile}}}
	for _, f := range th.Frames {
		if f.Inlined {
			continue
		}
		rec.Frames = append(rec.Frames, recorded.Frame{PC: uint64(f.PC), SP: uint64(f.SP), Method: f.Method,
			Function: f.Function})
	}
	for _, m := range c.Space().Modules() {
		known := slices.ContainsFunc(rec.Files, func(f recorded.File) bool { return f.Name == m.Name })
		if data, err := os.ReadFile(filepath.Join(sysroot, m.Name)); err == nil && filepath.IsAbs(m.Name) && !known {
			rec.Files = append(rec.Files, recorded.File{Name: m.Name, Data: data})
		}
	}
	if err := rec.Reduce(t.TempDir(), keeps(t, coreFile, c, th, sysroot)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "case.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := rec.Write(f); err != nil {
		t.Fatal(err)
	}
}

const wholeCode = 256

// keeps returns bytes that a case keeps for changed unwinders: the stack, each function's code up to its program
// counter, and the header of the search table.
func keeps(t *testing.T, coreFile []byte, c *core.Core, th *stacks.Thread, sysroot string) (out []recorded.Range) {
	t.Helper()
	for i, f := range th.Frames {
		end := uint64(f.SP) + 32
		if i+1 < len(th.Frames) {
			end = max(end, min(uint64(th.Frames[i+1].SP), end+wholeCode))
		}
		out = append(out, placed(t, recorded.CoreName, bytes.NewReader(coreFile), uint64(f.SP), end)...)
		m := c.Space().ModuleAt(uint64(f.PC))
		if m == nil || m.Calls == nil {
			continue
		}
		r, err := os.Open(filepath.Join(sysroot, m.Name))
		if err != nil {
			continue
		}
		defer r.Close()
		at := uint64(f.PC) - m.Bias
		from, ok := m.Calls.FuncStart(at - 4)
		if !ok || at-from > wholeCode {
			from = at - 64
		}
		out = append(out, placed(t, m.Name, r, from, at+32)...)
		out = append(out, searchTable(t, m.Name, r)...)
	}
	return out
}

func placed(t *testing.T, name string, r io.ReaderAt, from, to uint64) []recorded.Range {
	t.Helper()
	f, err := elf.NewFile(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && from >= p.Vaddr && from < p.Vaddr+p.Filesz {
			at := from - p.Vaddr + p.Off
			return []recorded.Range{{File: name, From: int(at), To: int(min(at+to-from, p.Off+p.Filesz))}}
		}
	}
	return nil
}

func searchTable(t *testing.T, name string, r io.ReaderAt) []recorded.Range {
	t.Helper()
	f, err := elf.NewFile(r)
	if err != nil {
		t.Fatal(err)
	}
	const head = 12
	for _, p := range f.Progs {
		if p.Type == elf.PT_GNU_EH_FRAME {
			return []recorded.Range{{File: name, From: int(p.Off), To: int(p.Off) + head}}
		}
	}
	if s := f.Section(".eh_frame_hdr"); s != nil {
		return []recorded.Range{{File: name, From: int(s.Offset), To: int(s.Offset) + head}}
	}
	return nil
}

type image struct {
	t    *testing.T
	file *elf.File
	syms []elf.Symbol
}

func openImage(t *testing.T, path string) *image {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return &image{t, f, syms}
}

func (i *image) symbol(name string) *elf.Symbol {
	i.t.Helper()
	n := slices.IndexFunc(i.syms, func(s elf.Symbol) bool { return s.Name == name })
	if n < 0 {
		i.t.Fatalf("no symbol %s", name)
	}
	return &i.syms[n]
}

func (i *image) fn(name string) uint64 { i.t.Helper(); return i.symbol(name).Value }

func (i *image) insn(at uint64) uint32 {
	i.t.Helper()
	for _, p := range i.file.Progs {
		if p.Type == elf.PT_LOAD && at-p.Vaddr < p.Filesz {
			var b [4]byte
			if _, err := p.ReadAt(b[:], int64(at-p.Vaddr)); err != nil {
				i.t.Fatal(err)
			}
			return binary.LittleEndian.Uint32(b[:])
		}
	}
	i.t.Fatalf("no code at %#x in the program", at)
	return 0
}

func (i *image) find(name string, like [2]uint32) uint64 {
	i.t.Helper()
	s := i.symbol(name)
	for at := s.Value; at < s.Value+s.Size; at += 4 {
		if i.insn(at)&like[0] == like[1] {
			return at
		}
	}
	i.t.Fatalf("%s has no instruction that matches %#x", name, like)
	return 0
}

func (i *image) target(at uint64) uint64 {
	i.t.Helper()
	return at + uint64(int64(int32(i.insn(at)<<6))>>4)
}

func (i *image) plt() uint64 {
	i.t.Helper()
	s := i.file.Section(".plt")
	if s == nil {
		i.t.Fatal("no linkage table")
	}
	return s.Addr
}
