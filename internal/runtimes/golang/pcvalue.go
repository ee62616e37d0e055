// SPDX-License-Identifier: Apache-2.0

package golang

import "encoding/binary"

// maxSteps bounds the decoding of one pc-value table: more runs than the largest
// function that a compiler accepts has instructions.
const maxSteps = 1 << 20

// steps decodes a pc-value table: runs of addresses that share a value, as pairs
// of a zigzag value delta and a pc delta (runtime/symtab.go, step).
type steps struct {
	b       []byte
	quantum uint64
	// val holds from start up to pc, pc excluded.
	start, pc uint64
	val       int32
	n         int
}

// steps starts the table at an offset; without a table it yields nothing.
func (t *Table) steps(off uint32, entry uint64) steps {
	s := steps{quantum: t.h.quantum, start: entry, pc: entry, val: -1}
	if off != 0 && uint64(off) < uint64(len(t.h.pctab)) {
		s.b = t.h.pctab[off:]
	}
	return s
}

// next goes on to the next run; false at the end.
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

// uvarint reads a 32-bit number in LEB128.
func (s *steps) uvarint() (uint32, bool) {
	v, n := binary.Uvarint(s.b[:min(len(s.b), binary.MaxVarintLen32)])
	if n <= 0 {
		return 0, false
	}
	s.b = s.b[n:]
	return uint32(v), true
}

// pcvalue gives the value of a table at pc; false if it does not cover pc.
func (t *Table) pcvalue(f *fn, off uint32, pc uint64) (int32, bool) {
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

// pcdata gives the value of one of the function's numbered tables at pc.
func (t *Table) pcdata(f *fn, table uint32, pc uint64) (int32, bool) {
	if table >= f.npcdata || uint64(len(f.tail)) < 4*uint64(table)+4 {
		return 0, false
	}
	return t.pcvalue(f, binary.LittleEndian.Uint32(f.tail[4*table:]), pc)
}
