// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"iter"

	"prywalk/frames"
)

// FDE describes a function, or a part of one.
type FDE struct {
	Start, End uint64
	Signal     bool // augmentation S

	sec *frameSection
	off uint64
}

// FDEs returns the intact entries, those of .eh_frame first, in file order. It reads whole sections, up to 4 Mi entries
// of each.
func (t *Table) FDEs() iter.Seq[FDE] {
	return func(yield func(FDE) bool) {
		for _, s := range []*frameSection{&t.eh, &t.debug} {
			for f := range t.fdesOf(s) {
				if !yield(FDE{f.start, f.end, f.cie.signal, s, f.off}) {
					return
				}
			}
		}
	}
}

// Rows returns an FDE's rows, each with its first address, up to an invalid instruction. A row is valid until the next;
// the table must not be used meanwhile.
func (t *Table) Rows(e FDE) iter.Seq2[uint64, *frames.Row] {
	return func(yield func(uint64, *frames.Row) bool) {
		f, ok := t.fdeAt(e.sec, e.off)
		if !ok {
			return
		}
		m := &t.machine
		m.reset(f.cie)
		m.begin(f.cie, f.sec, f.off, f.start)
		for f.prog.Pos < len(f.prog.Bytes) {
			from := m.loc
			if !m.step(&f.prog) {
				return
			}
			if m.loc == from {
				continue
			}
			if row := t.builtRow(&f, from); row != nil && !yield(from, row) {
				return
			}
		}
		if row := t.builtRow(&f, m.loc); row != nil {
			yield(m.loc, row)
		}
	}
}

// builtRow leaves the machine's row, for further instructions.
func (t *Table) builtRow(f *fde, pc uint64) *frames.Row {
	read := t.machine.row
	defer func() { t.machine.row = read }()
	if !t.buildRow(f, pc) {
		return nil
	}
	row := t.machine.row
	return &row
}
