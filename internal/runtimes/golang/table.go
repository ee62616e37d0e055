// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"fmt"

	"prywalk/frames"
)

// Table is the function table of one module. It implements [frames.RuleSource]
// and, like it, is for one goroutine at a time.
type Table struct {
	img  Image
	h    header
	text uint64 // address that function offsets are relative to
	mod  moduledata

	flows map[uint64]*flow // of functions whose instructions had to be followed
	rows  map[rowKey]*frames.Row

	chase     Chase
	chaseOK   bool
	chaseDone bool
}

// New reads the header of a table; errors wrap [ErrNoTable], [ErrMalformed] or
// [ErrNoText]. It keeps im.Pclntab and im.Read and reads from them later.
func New(im Image) (*Table, error) {
	h, err := parseHeader(im.Pclntab, im.Arch)
	if err != nil {
		return nil, err
	}
	t := &Table{img: im, h: h, flows: map[uint64]*flow{}, rows: map[rowKey]*frames.Row{}}
	t.mod, _ = t.findModuledata()
	switch {
	case im.TextStart != 0:
		t.text = im.TextStart
	case t.mod.text != 0:
		t.text = t.mod.text
	default:
		t.text = h.textStart // in a PIE 0 in the file, and relocated
	}
	if t.text == 0 && !h.old() {
		return nil, fmt.Errorf("table at %#x: %w; pass the data sections or the symbol runtime.text", im.PclntabAddr,
			ErrNoText)
	}
	return t, nil
}

// HasInlines reports whether names of inlined calls can be given: whether the
// moduledata was found.
func (t *Table) HasInlines() bool { return t.mod.gofunc != 0 || t.h.old() }

// NumFuncs gives the number of functions in the table.
func (t *Table) NumFuncs() int { return int(t.h.nfunc) }
