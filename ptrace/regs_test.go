// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

func TestX86RegistersGoToTheirDWARFNumbers(t *testing.T) {
	names := []string{"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi",
		"rdi",
		"orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs"}
	dwarf := []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
		"r14", "r15"}
	value := map[string]uint64{}
	b := make([]byte, RegsLenX86)
	for i, n := range names {
		value[n] = uint64(i)<<32 | 7
		binary.LittleEndian.PutUint64(b[8*i:], value[n])
	}
	var r frames.Regs
	nr, ok := DecodeRegsX86(b, &r)
	if !ok || nr != int64(value["orig_rax"]) || r.PC != value["rip"] || r.SP() != value["rsp"] ||
		r.TLS != value["fs_base"] || r.Arch != frames.X86_64 {
		t.Errorf("%v %d %+v", ok, nr, r)
	}
	for i, n := range dwarf {
		if v, known := r.Get(uint8(i)); !known || v != value[n] {
			t.Errorf("%s: %#x %v", n, v, known)
		}
	}
	if _, ok := DecodeRegsX86(b[:RegsLenX86-1], &r); ok {
		t.Error("short input was taken")
	}
}

func TestARMRegistersGoToTheirDWARFNumbers(t *testing.T) {
	b := make([]byte, RegsLenAArch64)
	for i := range RegsLenAArch64 / 8 {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(i)+100)
	}
	var r frames.Regs
	if !DecodeRegsAArch64(b, &r) || r.PC != 132 || r.SP() != 131 || r.Arch != frames.AArch64 || r.Known != 1<<32-1 {
		t.Errorf("%+v", r)
	}
	for i := range uint8(32) {
		if v, known := r.Get(i); !known || v != uint64(i)+100 {
			t.Errorf("x%d: %d %v", i, v, known)
		}
	}
	if DecodeRegsAArch64(b[:8], &r) {
		t.Error("short input was taken")
	}
}

func FuzzDecodeRegs(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, RegsLenX86))
	f.Add(make([]byte, RegsLenAArch64))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r frames.Regs
		if _, ok := DecodeRegsX86(b, &r); ok != (len(b) >= RegsLenX86) {
			t.Error("x86")
		}
		if DecodeRegsAArch64(b, &r) != (len(b) >= RegsLenAArch64) {
			t.Error("arm64")
		}
	})
}
