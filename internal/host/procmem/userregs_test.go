// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

func TestX86RegistersHaveTheirDWARFNumbers(t *testing.T) {
	names := []string{"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi",
		"rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs"}
	dwarf := []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
		"r14", "r15"}
	value := map[string]uint64{}
	b := make([]byte, LenRegsX86)
	for i, n := range names {
		value[n] = uint64(i)<<32 | 7
		binary.LittleEndian.PutUint64(b[8*i:], value[n])
	}
	var r frames.Regs
	nr, ok := DecodeRegsX86(b, &r)
	if !ok || nr != int64(value["orig_rax"]) || r.PC != value["rip"] || r.SP() != value["rsp"] ||
		r.TLS != value["fs_base"] || r.Arch != frames.X86_64 {
		t.Errorf("decoded %v, call %d, %+v", ok, nr, r)
	}
	for i, n := range dwarf {
		if v, known := r.Get(uint8(i)); !known || v != value[n] {
			t.Errorf("register %s: %#x, %v; want %#x", n, v, known, value[n])
		}
	}
	if _, ok := DecodeRegsX86(b[:LenRegsX86-1], &r); ok {
		t.Error("short input is accepted")
	}
}

func TestARMRegistersHaveTheirDWARFNumbers(t *testing.T) {
	b := make([]byte, LenRegsARM64)
	for i := range LenRegsARM64 / 8 {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(i)+100)
	}
	var r frames.Regs
	if !DecodeRegsARM64(b, &r) || r.PC != 132 || r.SP() != 131 || r.Arch != frames.ARM64 || r.Known != 1<<32-1 {
		t.Errorf("registers %+v; want pc 132, sp 131, all known", r)
	}
	for i := range uint8(32) {
		if v, known := r.Get(i); !known || v != uint64(i)+100 {
			t.Errorf("x%d: %d, %v; want %d", i, v, known, uint64(i)+100)
		}
	}
	if DecodeRegsARM64(b[:8], &r) {
		t.Error("short input is accepted")
	}
}

func FuzzDecodeRegs(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, LenRegsX86))
	f.Add(make([]byte, LenRegsARM64))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r frames.Regs
		if _, ok := DecodeRegsX86(b, &r); ok != (len(b) >= LenRegsX86) {
			t.Errorf("x86-64: %d bytes, decoded %v", len(b), ok)
		}
		if DecodeRegsARM64(b, &r) != (len(b) >= LenRegsARM64) {
			t.Errorf("arm64: %d bytes, decoded %v", len(b), len(b) < LenRegsARM64)
		}
	})
}
