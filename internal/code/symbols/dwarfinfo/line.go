// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"cmp"
	"slices"
	"sort"

	"prywalk/internal/base/wire"
)

type row struct {
	addr       uint64
	file, line uint32
}

// sequence is the rows of contiguous code (DWARF 5 §6.2.5.1).
type sequence struct {
	lo, hi      uint64
	first, last int
}

type lineTable struct {
	rows  []row
	seqs  []sequence
	files fileNames
}

// find returns file and line of addr. Of rows with one address the last counts: the others are empty.
func (t *lineTable) find(addr uint64) (file, line uint32, ok bool) {
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].lo > addr })
	if i == 0 || addr >= t.seqs[i-1].hi {
		return 0, 0, false
	}
	rows := t.rows[t.seqs[i-1].first:t.seqs[i-1].last]
	j := sort.Search(len(rows), func(i int) bool { return rows[i].addr > addr })
	if j == 0 {
		return 0, 0, false
	}
	return rows[j-1].file, rows[j-1].line, true
}

func (u *unit) linesOf() *lineTable {
	if !u.hasLines {
		return &lineTable{}
	}
	t := u.d.lines[u.stmtList]
	if t == nil {
		t = new(lineTable)
		u.d.lines[u.stmtList] = t
		p := lineProgram{u: u, t: t}
		p.run()
	}
	return t
}

// lineProgram is the state machine of DWARF 5 §6.2.2.
type lineProgram struct {
	u         *unit
	t         *lineTable
	c         wire.Cursor
	addrSize  uint8
	offSize   uint8
	minInst   uint64
	maxOps    uint64
	lineBase  int8
	lineRange uint8
	opBase    uint8
	opLens    []byte

	row     row
	opIndex uint64
	first   int // of the sequence
}

func (p *lineProgram) run() {
	if !p.header() {
		return
	}
	p.reset()
	for !p.c.Done() && p.u.d.spendSteps(1) {
		switch op := p.c.U8(); {
		case op >= p.opBase:
			adj := op - p.opBase
			p.advance(uint64(adj / p.lineRange))
			p.row.line += uint32(int32(p.lineBase) + int32(adj%p.lineRange))
			p.emit()
		case op == 0:
			p.extended()
		default:
			p.standard(op)
		}
	}
	t := p.t
	slices.SortStableFunc(t.seqs, func(a, b sequence) int { return cmp.Compare(a.lo, b.lo) })
	t.rows = slices.Clip(t.rows)
}

// reset begins a sequence (§6.2.2, table 6.4).
func (p *lineProgram) reset() {
	p.row = row{file: 1, line: 1}
	p.opIndex = 0
	p.first = len(p.t.rows)
}

func (p *lineProgram) emit() {
	n := len(p.t.rows)
	if n > p.first && p.row.addr < p.t.rows[n-1].addr {
		return
	}
	if n > p.first && p.t.rows[n-1].addr == p.row.addr {
		p.t.rows[n-1] = p.row
		return
	}
	if n > p.first && p.t.rows[n-1].file == p.row.file && p.t.rows[n-1].line == p.row.line {
		return
	}
	if p.u.d.takeMemory(rowCost) {
		p.t.rows = append(p.t.rows, p.row)
	}
}

func (p *lineProgram) advance(ops uint64) {
	if p.maxOps <= 1 {
		p.row.addr += ops * p.minInst
		return
	}
	p.row.addr += p.minInst * ((p.opIndex + ops) / p.maxOps)
	p.opIndex = (p.opIndex + ops) % p.maxOps
}

// standard executes an opcode of §6.2.5.2.
func (p *lineProgram) standard(op uint8) {
	c := &p.c
	switch op {
	case 1: // copy
		p.emit()
	case 2: // advance_pc
		p.advance(c.ULEB())
	case 3: // advance_line
		p.row.line += uint32(c.SLEB())
	case 4: // set_file
		p.row.file = uint32(c.ULEB())
	case 5, 12: // set_column, set_isa
		c.ULEB()
	case 6, 7, 10, 11: // negate_stmt, set_basic_block, set_prologue_end, set_epilogue_begin
	case 8: // const_add_pc
		p.advance(uint64((255 - p.opBase) / p.lineRange))
	case 9: // fixed_advance_pc
		p.row.addr += uint64(c.U16())
		p.opIndex = 0
	default:
		for range p.opLens[op-1] {
			c.ULEB()
		}
	}
}

// extended executes an opcode of §6.2.5.3.
func (p *lineProgram) extended() {
	n := p.c.ULEB()
	end := uint64(p.c.Pos) + n
	if n == 0 || n > uint64(len(p.c.Bytes)-p.c.Pos) {
		if n != 0 {
			p.c.Fail()
		}
		return
	}
	switch p.c.U8() {
	case 1: // end_sequence
		t := p.t
		if n := len(t.rows); n > p.first && isCode(t.rows[p.first].addr, p.row.addr) && p.u.d.takeMemory(seqCost) {
			t.seqs = append(t.seqs, sequence{lo: t.rows[p.first].addr, hi: p.row.addr, first: p.first, last: n})
		} else {
			t.rows = t.rows[:p.first]
		}
		p.reset()
	case 2: // set_address
		if size := uint8(min(n-1, 255)); size == 4 || size == 8 {
			p.row.addr = p.c.Sized(size)
			p.opIndex = 0
		}
	case 3: // define_file
		if p.u.d.takeMemory(fileCost) {
			p.t.files.define(&p.c)
		}
	}
	p.c.Pos = int(end)
}
