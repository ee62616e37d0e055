// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"

	"prywalk/frames"
	"prywalk/internal/testtargets"
)

var delveKinds = map[frame.Rule]frames.RegRuleKind{
	frame.RuleUndefined: frames.RuleUndefined, frame.RuleSameVal: frames.RuleSame,
	frame.RuleOffset: frames.RuleOffset, frame.RuleValOffset: frames.RuleValOffset, frame.RuleRegister: frames.RuleReg,
	frame.RuleExpression: frames.RuleExpr, frame.RuleValExpression: frames.RuleValExpr,
}

func delveFrames(t *testing.T, path, section string) map[uint64]*frame.FrameDescriptionEntry {
	f, err := elf.Open(path)
	if err != nil {
		testtargets.Need(t, !errors.Is(err, os.ErrNotExist), path, testtargets.SetUp)
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(section)
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	at := uint64(0)
	if section == ".eh_frame" {
		at = s.Addr
	}
	list, err := frame.Parse(data, binary.LittleEndian, 0, 8, at)
	if err != nil {
		t.Fatal(err)
	}
	out := map[uint64]*frame.FrameDescriptionEntry{}
	for _, e := range list {
		out[e.Begin()] = e
	}
	return out
}

// readelf does not show the expression.
func (m *machine) cfaAgrees(w *frame.DWRule) bool {
	if e, ok := m.row.CFAExpr.(*expr); ok {
		return w.Rule == frame.RuleExpression && bytes.Equal(w.Expression, e.code)
	}
	return w.Rule == frame.RuleCFA && w.Reg == uint64(m.row.CFAReg) && w.Offset == m.row.CFAOff
}

// Delve's restore drops the rule of the CIE, and leaves the register undefined where it has its former value: then it
// is not compared.
func (m *machine) ruleAgrees(slot int, w *frame.DWRule, returns bool) bool {
	r := m.row.Regs[slot]
	if w.Rule == frame.RuleUndefined && !returns {
		return r.Kind == frames.RuleUndefined || r == m.cie.init.Regs[slot]
	}
	if delveKinds[w.Rule] != r.Kind {
		return false
	}
	switch r.Kind {
	case frames.RuleOffset:
		return r.Off == w.Offset
	case frames.RuleReg:
		return uint64(r.Reg) == w.Reg
	case frames.RuleExpr, frames.RuleValExpr:
		return bytes.Equal(w.Expression, r.Expr.(*expr).code)
	}
	return true
}

func compareDelve(t *testing.T, table *Table, loc uint64, d *frame.FrameDescriptionEntry) {
	m := &table.machine
	want, err := d.EstablishFrame(loc)
	if err != nil {
		t.Fatalf("%#x: delve: %v", loc, err)
	}
	if !m.cfaAgrees(&want.CFA) {
		t.Fatalf("%#x: CFA r%d%+d (expression %v), delve has %+v", loc, m.row.CFAReg, m.row.CFAOff, m.row.CFAExpr, want.CFA)
	}
	for slot := range int(m.cie.arch.columns) {
		w, known := want.Regs[uint64(slot)]
		if !known {
			w.Rule = frame.RuleSameVal
		}
		if !m.ruleAgrees(slot, &w, uint64(slot) == m.cie.ra) {
			t.Fatalf("%#x: register %d: %+v, delve has %+v", loc, slot, m.row.Regs[slot], w)
		}
	}
}

func TestRowsEqualDelves(t *testing.T) {
	for path, section := range map[string]string{libcPath: ".eh_frame", cxxPath: ".eh_frame",
		"/usr/bin/readelf":     ".eh_frame",
		buildHello(t, "amd64"): ".debug_frame", buildHello(t, "arm64"): ".debug_frame"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			entries := delveFrames(t, path, section)
			table, fdes, rows := openTable(t, path), 0, 0
			for e := range table.FDEs() {
				d := entries[e.Start]
				if d == nil || d.End() != e.End {
					t.Fatalf("FDE %#x..%#x: delve has %+v", e.Start, e.End, d)
				}
				fdes++
				for loc := range table.Rows(e) {
					rows++
					compareDelve(t, table, loc, d)
				}
			}
			t.Logf("%d FDEs, %d rows", fdes, rows)
			if rows == 0 {
				t.Error("no rows were compared")
			}
		})
	}
}
