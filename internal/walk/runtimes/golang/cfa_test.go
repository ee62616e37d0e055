// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

type fde struct {
	lo, hi uint64
	rows   []cfaRow
}

type cfaRow struct {
	pc  uint64
	off int64
	ra  int64 // of arm64: of the link register, from the CFA; 0 means in itself
}

// Go uses DW_CFA_advance_loc* and DW_CFA_def_cfa_offset_sf only (cmd/link/internal/ld/dwarf.go).
func debugFrame(t *testing.T, f *elf.File, arch frames.Arch) []fde {
	s := f.Section(".debug_frame")
	if s == nil {
		t.Fatal("no .debug_frame")
	}
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	first, dataAlign := int64(8), int64(-4)
	if arch == frames.ARM64 {
		first = 0
	}
	var out []fde
	for off := uint64(0); off+4 <= uint64(len(b)); {
		n := uint64(binary.LittleEndian.Uint32(b[off:]))
		e := b[off+4 : off+4+n]
		off += 4 + n
		if binary.LittleEndian.Uint32(e) == 0xffffffff {
			continue
		}
		d := fde{lo: binary.LittleEndian.Uint64(e[4:])}
		d.hi = d.lo + binary.LittleEndian.Uint64(e[12:])
		d.rows = cfaRows(t, e[20:], d.lo, first, dataAlign)
		out = append(out, d)
	}
	return out
}

func cfaRows(t *testing.T, b []byte, pc uint64, off, align int64) []cfaRow {
	rows := []cfaRow{{pc: pc, off: off}}
	ra := int64(0)
	for len(b) > 0 {
		op := b[0]
		b = b[1:]
		var d uint64
		switch {
		case op == 0:
			continue
		case op&0xc0 == 0x40:
			d = uint64(op & 0x3f)
		case op == 2:
			d, b = uint64(b[0]), b[1:]
		case op == 3:
			d, b = uint64(binary.LittleEndian.Uint16(b)), b[2:]
		case op == 4:
			d, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		case op == 0x13:
			v, n := sleb(b)
			b = b[n:]
			rows = append(rows, cfaRow{pc: pc, off: v * align, ra: ra})
			continue
		case op == 0x11: // DW_CFA_offset_extended_sf
			_, n := sleb(b)
			v, m := sleb(b[n:])
			ra, b = v*align, b[n+m:]
			continue
		case op == 0x07, op == 0x08:
			_, n := sleb(b)
			ra, b = 0, b[n:]
			continue
		default:
			t.Fatalf("call frame instruction %#x", op)
		}
		pc += d
	}
	return rows
}

func sleb(b []byte) (v int64, n int) {
	for shift := 0; ; shift += 7 {
		c := b[n]
		n++
		v |= int64(c&0x7f) << shift
		if c&0x80 == 0 {
			if c&0x40 != 0 && shift < 57 {
				v |= -1 << (shift + 7)
			}
			return v, n
		}
	}
}

func (d *fde) at(pc uint64) cfaRow {
	i, _ := slices.BinarySearchFunc(d.rows, pc+1, func(r cfaRow, pc uint64) int {
		if r.pc < pc {
			return -1
		}
		return 1
	})
	return d.rows[i-1]
}

func TestCFAOfEveryAddressAgreesWithDebugFrame(t *testing.T) {
	for _, v := range append(variants(), older(t)...) {
		t.Run(v.name, func(t *testing.T) {
			path := build(t, v.src, v.env, append([]string{"-ldflags=-compressdwarf=false"}, v.args...)...)
			if v.name == "cgo-static" {
				path = build(t, v.src, v.env, "-ldflags=-compressdwarf=false -linkmode=external -extldflags=-static")
			}
			tab, f := open(t, path)
			arch := tab.img.Arch
			checked, special, refused := 0, 0, 0
			for _, d := range debugFrame(t, f, arch) {
				for pc := d.lo; pc < d.hi; pc += quantum(arch) {
					r, row, ok := tab.Rule(frames.Query{PC: pc})
					if !ok {
						fnc, found := tab.find(pc)
						if found && string(tab.name(&fnc)) != "" && fnc.pcsp != 0 {
							t.Fatalf("no rule at %#x in %s", pc, tab.name(&fnc))
						}
						continue
					}
					switch {
					case r.Flags&frames.FlagRoot != 0, row != nil && row.RA.Kind == frames.RuleReg,
						r.Flags&(frames.FlagStackSwitch|frames.FlagExactPC) != 0 && row != nil:
						special++
						continue
					case row != nil && row.CFAExpr != nil:
						refused++
						continue
					case r.CFAReg != arch.SP():
						special++
						continue
					}
					off := int64(r.CFAOff)
					if row != nil {
						off = row.CFAOff
					}
					want := d.at(pc)
					if off != want.off && !knownBetter(tab, pc) {
						fnc, _ := tab.find(pc)
						t.Fatalf("CFA at %#x in %s: sp+%d, .debug_frame says sp+%d", pc, tab.name(&fnc), off, want.off)
					}
					if ra := savedLR(&r, row); arch == frames.ARM64 && ra != want.ra && !ownWay(tab, pc) {
						fnc, _ := tab.find(pc)
						t.Fatalf("link register at %#x in %s: cfa%+d, .debug_frame says cfa%+d", pc, tab.name(&fnc), ra, want.ra)
					}
					checked++
				}
			}
			if checked < 100000/int(quantum(arch)) || refused > 250 {
				t.Errorf("checked %d addresses, %d special, %d refused", checked, special, refused)
			}
			t.Logf("%d addresses agree; %d special, %d refused", checked, special, refused)
		})
	}
}

func savedLR(r *frames.Rule, row *frames.Row) int64 {
	switch {
	case row != nil:
		return row.RA.Off
	case r.Flags&frames.FlagRAInLR != 0:
		return 0
	}
	return -8 * int64(r.Saved[1])
}

// ownWay is assembly that moves the stack pointer or link register itself.
func ownWay(t *Table, pc uint64) bool {
	f, _ := t.find(pc)
	return f.flag&flagAsm != 0
}

// After a stack pointer load .debug_frame is not true.
func knownBetter(t *Table, pc uint64) bool {
	f, ok := t.find(pc)
	_, spWrite := t.kind(&f)
	return ok && spWrite
}

func TestPrologueStoresRBPWhereTheRuleSaysSo(t *testing.T) {
	testtargets.NeedProgram(t, "objdump")
	path := build(t, source, noCgo)
	tab, _ := open(t, path)
	out, err := bounded.Output(exec.Command("objdump", "-d", "--no-show-raw-insn", path))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	var cur uint64
	pushed, clobbered := false, false
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		addr, ins, ok := strings.Cut(strings.TrimSpace(sc.Text()), ":\t")
		pc, err := strconv.ParseUint(addr, 16, 64)
		if !ok || err != nil {
			continue
		}
		f, ok := tab.find(pc)
		k, spWrite := tab.kind(&f)
		if !ok || k != kindPlain || spWrite || f.flag&flagAsm != 0 {
			continue
		}
		if f.entry != cur {
			cur, pushed, clobbered = f.entry, false, false
		}
		delta, ok := tab.pcvalue(&f, f.pcsp, pc)
		if !ok {
			continue
		}
		r, row, ok := tab.Rule(frames.Query{PC: pc})
		if !ok || row != nil {
			t.Fatalf("%#x in %s: no compact rule", pc, tab.name(&f))
		}
		if want := delta > 0; (r.Saved[0] == 2) != want || pushed && !clobbered && (r.Saved[0] == 2) != (delta > 0) {
			t.Fatalf("%#x in %s: rbp saved %d, delta %d (%s)", pc, tab.name(&f), r.Saved[0], delta, ins)
		}
		if strings.HasPrefix(ins, "push   %rbp") {
			if delta != 0 {
				t.Fatalf("%#x: push rbp with delta %d", pc, delta)
			}
			pushed = true
		} else if !pushed && delta > 0 {
			t.Fatalf("%#x in %s: frame before push rbp", pc, tab.name(&f))
		}
		checked++
	}
	if checked < 50000 {
		t.Errorf("only %d instructions", checked)
	}
}

// In a vDSO call's epilogue x29 does not lead to the frame.
func TestEpilogueAfterASwitchOfStacksOnArm64(t *testing.T) {
	tab, file := open(t, build(t, source, forARM))
	text := file.Section(".text")
	found := 0
	for _, name := range []string{"runtime.nanotime1", "runtime.walltime"} {
		for pc := text.Addr; pc < text.Addr+text.Size; pc += 4 {
			f, ok := tab.find(pc)
			if !ok || !strings.HasPrefix(string(tab.name(&f)), name) {
				continue
			}
			now := tab.insnARM64(pc)
			if now&0xffe00fff != ldrLRPost || tab.insnARM64(pc-4) != ldurFP {
				continue
			}
			found++
			size := int32(now<<11) >> 23
			r, _, ok := tab.Rule(frames.Query{PC: pc})
			if !ok || r.CFAReg != frames.ARM64SP || r.CFAOff != size || int32(r.Saved[1])*8 != size || r.Saved[0] != 0 {
				t.Errorf("%s before the frame goes: %+v, %v", name, r, ok)
			}
			if r, _, ok = tab.Rule(frames.Query{PC: pc + 4}); !ok || r.CFAReg != frames.ARM64SP || r.CFAOff != 0 ||
				r.Flags != frames.FlagRAInLR {
				t.Errorf("%s at its return: %+v, %v", name, r, ok)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d epilogues found", found)
	}
}

// racecall keeps its stack pointer and return address in x19 and x20.
func TestRaceCallLeadsBackToItsStackOnArm64(t *testing.T) {
	testtargets.OnlyInAll(t, "compiles the race detector's runtime for arm64")
	cc := testtargets.NeedProgram(t, "aarch64-linux-gnu-gcc")
	env := []string{"GOARCH=arm64", "CGO_ENABLED=1", "CC=" + cc}
	tab, file := open(t, build(t, "package main\n\nfunc main() {}\n", env, "-race"))
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "racecall" })
	if i < 0 {
		t.Fatal("no racecall")
	}
	const x19, x20, blr, toX9 = 19, 20, 0xd63f0000, 9 << 5
	calls := 0
	for pc := symbols[i].Value; pc < symbols[i].Value+symbols[i].Size; pc += 4 {
		if tab.insnARM64(pc) != blr|toX9 {
			continue
		}
		calls++
		r, row, ok := tab.Rule(frames.Query{PC: pc + 4, AfterCall: true})
		if !ok || row == nil || row.CFAReg != x19 || row.CFAOff != 0 || row.RA.Kind != frames.RuleReg || row.RA.Reg != x20 ||
			r.Flags != frames.FlagStackSwitch {
			t.Errorf("in the call: %+v, %+v, %v", r, row, ok)
		}
	}
	if r, _, ok := tab.Rule(frames.Query{PC: symbols[i].Value}); !ok || r.Flags != frames.FlagRAInLR || r.CFAOff != 0 {
		t.Errorf("at its start: %+v, %v", r, ok)
	}
	if calls != 1 {
		t.Errorf("%d calls of C code", calls)
	}
}
