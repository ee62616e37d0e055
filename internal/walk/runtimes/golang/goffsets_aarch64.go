// SPDX-License-Identifier: Apache-2.0

package golang

import "encoding/binary"

func memARM64(w uint32) (load bool, rt, rn uint8, off int64, ok bool) {
	if op := w & 0xffc00000; op != 0xf9400000 && op != 0xf9000000 {
		return false, 0, 0, 0, false
	}
	return w&0x00400000 != 0, uint8(w & 31), uint8(w >> 5 & 31), int64(w>>10&0xfff) * 8, true
}

// gOffsetsARM64 decodes runtime.systemstack, which loads g.m, m.gsignal, m.g0, m.curg, g0.sched.sp, and runtime.mcall,
// which stores sp, x29, x30 and 0 in g.sched.
func (t *gOffsetsDecoder) gOffsetsARM64() (GOffsets, bool) {
	c := GOffsets{GReg: 28, GStackHi: 8}
	_, code := t.funcs.asmCode("runtime.systemstack")
	var m uint8
	n := 0
	for ; len(code) >= 4 && n < 5; code = code[4:] {
		load, rt, rn, off, ok := memARM64(binary.LittleEndian.Uint32(code))
		switch {
		case !ok || !load:
		case n == 0 && rn == 28:
			m, c.GM = rt, off
			n++
		case n > 0 && n < 4 && rn == m:
			*[...]*int64{&c.MGsignal, &c.MG0, &c.MCurg}[n-1] = off
			n++
		case n == 4 && rn == 28:
			c.SchedSP = off
			n++
		}
	}
	sp := c.SchedSP
	return c, n == 5 && c.mcallARM64(t.funcs) && c.SchedSP == sp
}

func (o *GOffsets) mcallARM64(t *funcs) bool {
	_, code := t.asmCode("runtime.mcall")
	found := 0
	for ; len(code) >= 4 && found != 15; code = code[4:] {
		load, rt, rn, off, ok := memARM64(binary.LittleEndian.Uint32(code))
		if !ok || load || rn != 28 {
			continue
		}
		switch rt {
		case 0:
			o.SchedSP, found = off, found|1
		case 29:
			o.SchedBP, found = off, found|2
		case 30:
			o.SchedPC, found = off, found|4
		case 31:
			o.SchedLR, found = off, found|8
		}
	}
	return found == 15
}
