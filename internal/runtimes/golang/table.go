// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"fmt"

	"prywalk/frames"
)

// Table is the function table of one module. It implements [frames.RuleSource]. Not safe for concurrent use.
type Table struct {
	funcs
	lines
	chases
	rules
	records frameRecords
}

// New reads the header of a table; errors wrap [ErrNoTable], [ErrMalformed] or [ErrNoText]. The table keeps im.
func New(im Image) (*Table, error) {
	h, err := parseHeader(im.Pclntab, im.Arch)
	if err != nil {
		return nil, err
	}
	t := &Table{funcs: funcs{img: im, h: h}}
	f := &t.funcs
	mod, _ := moduleScan{f}.findModuledata()
	switch {
	case im.TextStart != 0:
		t.text = im.TextStart
	case mod.text != 0:
		t.text = mod.text
	default:
		t.text = h.textStart // 0 in the file of a PIE
	}
	if t.text == 0 && !h.old() {
		return nil, fmt.Errorf("table at %#x: %w; pass the data sections or the symbol runtime.text", im.PclntabAddr,
			ErrNoText)
	}
	t.lines, t.chases = lines{f, mod.gofunc}, chases{funcs: f}
	t.records = frameRecords{rules: &t.rules}
	t.rules = rules{funcs: f, chases: &t.chases, flows: map[uint64]*flow{}, rows: map[rowKey]*frames.Row{}}
	return t, nil
}

// HasInlines reports whether inlined calls have names.
func (t *lines) HasInlines() bool { return t.gofunc != 0 || t.h.old() }

// NumFuncs returns the number of functions.
func (t *funcs) NumFuncs() int { return int(t.h.nfunc) }
