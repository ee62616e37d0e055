// SPDX-License-Identifier: Apache-2.0

package golang

import "encoding/binary"

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
