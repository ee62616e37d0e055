// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"encoding/binary"
	"testing"
)

func TestRegistersThatRareInstructionsWriteOnArm64(t *testing.T) {
	const x19, x20 = 1 << 19, 1 << 20
	for _, c := range []struct {
		name string
		code uint32
		want uint32
	}{
		{"ldraa x19, [x1, #8]", 0xf8201433, x19},
		{"ldraa x19, [x20, #8]!", 0xf8201e93, x19 | x20},
		{"str x19, [x1, x2]", 0xf8226833, 0},
		{"ldr x19, [x1, x2]", 0xf8626833, x19},
		{"ldadd x1, x19, [x2]", 0xf8210053, x19},
		{"ldapur x19, [x1, #8]", 0xd9408033, x19},
		{"stlur x19, [x1, #8]", 0xd9008033, 0},
		{"ldapursw x19, [x1]", 0x99800033, x19},
		{"ldg x19, [x0]", 0xd9600013, x19},
		{"caspal x20, x21, x2, x3, [x4]", 0x4874fc82, x20 | 1<<21},
		{"cpyfp [x19]!, [x20]!, x21!", 0x191406b3, x19 | x20 | 1<<21},
		{"cntd x19", 0x04e0e3f3, x19},
		{"incb x19", 0x0430e3f3, x19},
		{"rdvl x19, #1", 0x04bf5033, x19},
		{"cntp x19, p0, p1.d", 0x25e08033, x19},
		{"incp x19, p1.d", 0x25ec8833, x19},
		{"fcvtzs x19, d9, #23", 0x9e58a533, x19},
		{"fcvtzu w19, s0, #16", 0x1e19c013, x19},
		{"scvtf s19, w0, #16", 0x1e02c013, 0},
		{"ld1 {v10.8b}, [x19], x1", 0x0cc1726a, x19},
		{"lastb x19, p0, z1.d", 0x05e1a033, x19},
		{"addvl sp, sp, #-1", 0x043f57ff, 1 << regSP},
		{"subg sp, sp, #32, #0", 0xd18203ff, 1 << regSP},
	} {
		if got := written(t, &abiARM64, binary.LittleEndian.AppendUint32(nil, c.code)); got&c.want != c.want ||
			c.want == 0 && got != 0 {
			t.Errorf("%s writes %#x, want %#x", c.name, got, c.want)
		}
	}
}

func TestRareLoadsAndStoresMoveTheStackPointer(t *testing.T) {
	for _, c := range []struct {
		name string
		code uint32
		want int64
	}{
		{"stg x0, [sp], #32", 0xd92027e0, 32},
		{"stg sp, [sp, #-32]!", 0xd93fefff, -32},
		{"st2g x0, [sp, #32]", 0xd9a02be0, 0},
		{"stzg x0, [sp], #16", 0xd96017e0, 16},
		{"stgp x29, x30, [sp, #-32]!", 0x69bf7bfd, -32},
		{"stgp x1, x2, [sp], #32", 0x68810be1, 32},
		{"stgp x1, x2, [sp, #16]", 0x69008be1, 0},
		{"ldpsw x19, x20, [sp], #8", 0x68c153f3, 8},
		{"ld1 {v10.8b}, [sp], #8", 0x0cdf73ea, 8},
		{"st1 {v5.2d, v6.2d}, [sp], #32", 0x4c9fafe5, 32},
		{"st3 {v30.h, v31.h, v0.h}[5], [sp], #6", 0x4d9f6bfe, 6},
		{"ld4r {v8.4s-v11.4s}, [sp], #16", 0x4dffebe8, 16},
		{"ld1 {v10.8b}, [sp]", 0x0c4073ea, 0},
	} {
		var st symbolicState
		var f flow
		st.reset(&abiARM64, 0, everywhere)
		stepARM64(&st, binary.LittleEndian.AppendUint32(nil, c.code), &f)
		if got := st.regs[regSP]; got != startValue(regSP).plus(c.want) {
			t.Errorf("%s: stack pointer %+v, want %d", c.name, got, c.want)
		}
		if c.code == 0x69bf7bfd && !abiARM64.isFrameAt(&st, st.regs[regSP]) {
			t.Errorf("%s saves no frame record", c.name)
		}
	}
}

func TestStoreOfTwoHalvesKeepsTheWordAboveThem(t *testing.T) {
	var st symbolicState
	var f flow
	st.reset(&abiARM64, 0, everywhere)
	for _, w := range []uint32{
		0xd10083ff, // sub sp, sp, #32
		0xf9000bf3, // str x19, [sp, #16]
		0x290107e0, // stp w0, w1, [sp, #8]
	} {
		stepARM64(&st, binary.LittleEndian.AppendUint32(nil, w), &f)
	}
	if got := st.load(st.regs[regSP].plus(16)); !got.isStartValue(19) {
		t.Errorf("the word of x19 is %+v", got)
	}
}

func TestMovkReplacesSixteenBits(t *testing.T) {
	var st symbolicState
	var f flow
	st.reset(&abiARM64, 0, everywhere)
	for _, w := range []uint32{
		0xd28002a8, // mov x8, #21
		0xf2800148, // movk x8, #10
		0xf2a00028, // movk x8, #1, lsl #16
	} {
		stepARM64(&st, binary.LittleEndian.AppendUint32(nil, w), &f)
	}
	if got := st.regs[8]; got != (value{kind: constant, off: 1<<16 | 10}) {
		t.Errorf("x8 is %+v", got)
	}
}

func TestBranchesOfACompareLeadToTheirTarget(t *testing.T) {
	for _, c := range []struct {
		name string
		code uint32
		to   uint64
	}{
		{"cbz w0, +16", 0x34000080, 16},
		{"tbnz x1, #33, -4", 0xb70fffe1, ^uint64(3)},
		{"cbge x1, x0, +20", 0xf42000a1, 20},
		{"cbne x0, #5, +20", 0xf5e280a0, 20},
		{"cbgt w0, #59, +20", 0x751d80a0, 20},
		{"cbbge w1, w0, +20", 0x742080a1, 20},
		{"cbheq w0, w1, +20", 0x74c1c0a0, 20},
		{"cbhi x1, x0, -4", 0xf4403fe1, ^uint64(3)},
	} {
		var st symbolicState
		var f flow
		st.reset(&abiARM64, 0, everywhere)
		stepARM64(&st, binary.LittleEndian.AppendUint32(nil, c.code), &f)
		if f.kind != flowCond || f.target != c.to {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
