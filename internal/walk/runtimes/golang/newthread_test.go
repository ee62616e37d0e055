// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

func TestNewThreadBehindCloneHasNoCaller(t *testing.T) {
	tab, clone, code := cloneOf(t, noCgo)
	call := 0
	for call+2 < len(code) && (code[call] != 0x0f || code[call+1] != 0x05) {
		call++
	}
	word := make([]byte, 16)
	binary.LittleEndian.PutUint64(word, 0xcafe)
	mem := &frames.Snapshot{Stack: frames.Region{Addr: 0x7000, Bytes: word}, StackEnd: 0x7010}
	for _, c := range []struct {
		ax, ra uint64
	}{{4711, 0xcafe}, {0, 0}} {
		r, row, ok := tab.Rule(frames.Query{PC: clone.Value + uint64(call) + 2})
		if !ok || row == nil || row.CFAReg != frames.X86RSP || row.CFAOff != 8 || r.Flags != 0 {
			t.Fatalf("%+v, %+v, %v", r, row, ok)
		}
		regs := frames.Regs{Arch: frames.X86_64}
		regs.Set(frames.X86RSP, 0x7000)
		regs.Set(frames.X86RAX, c.ax)
		if ra, ok := row.RA.Expr.Eval(&regs, mem, 0x7008); !ok || ra != c.ra {
			t.Errorf("rax %d: return address %#x, %v", c.ax, ra, ok)
		}
	}
	if r, row, ok := tab.Rule(frames.Query{PC: clone.Value + uint64(call)}); !ok || row != nil || r.CFAOff != 8 {
		t.Errorf("before the call: %+v, %+v, %v", r, row, ok)
	}
}

func cloneOf(t *testing.T, env []string) (tab *Table, clone elf.Symbol, code []byte) {
	t.Helper()
	tab, f := open(t, build(t, source, env))
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name == "runtime.clone.abi0" || s.Name == "runtime.clone" && clone.Value == 0 {
			clone = s
		}
	}
	code = make([]byte, clone.Size)
	if clone.Size == 0 || !tab.img.read(clone.Value, code) {
		t.Fatalf("%+v cannot be read", clone)
	}
	return tab, clone, code
}

// On arm64 the new thread has its parent's link register.
func TestNewThreadBehindCloneHasNoCallerOnARM64(t *testing.T) {
	tab, clone, code := cloneOf(t, forARM)
	var calls, returns []uint64
	for at := clone.Value; at < clone.Value+clone.Size; at += 4 {
		switch binary.LittleEndian.Uint32(code[at-clone.Value:]) {
		case svcARM64:
			calls = append(calls, at)
		case retARM64:
			returns = append(returns, at)
		}
	}
	if len(calls) < 2 || len(returns) < 1 || calls[0] > returns[0] || returns[0] > calls[1] {
		t.Fatalf("calls at %#x, returns at %#x", calls, returns)
	}
	for pc := clone.Value; pc < clone.Value+clone.Size; pc += 4 {
		r, row, ok := tab.Rule(frames.Query{PC: pc})
		switch {
		case pc > returns[0]:
			if !ok || r.Flags != frames.FlagRoot {
				t.Errorf("%#x, of the new thread only: %+v, %v", pc, r, ok)
			}
		case pc <= calls[0]:
			if !ok || row != nil || r.Flags != frames.FlagRAInLR {
				t.Errorf("%#x, before the call: %+v, %v, %v", pc, r, row, ok)
			}
		default:
			if !ok || row == nil || row.CFAReg != frames.ARM64SP || r.Flags != 0 {
				t.Fatalf("%#x, behind the call: %+v, %+v, %v", pc, r, row, ok)
			}
			for made, want := range map[uint64]uint64{4711: 0xcafe, 0: 0} {
				regs := frames.Regs{Arch: frames.ARM64}
				regs.Set(0, made)
				regs.Set(frames.ARM64LR, 0xcafe)
				if ra, ok := row.RA.Expr.Eval(&regs, nil, 0x7000); !ok || ra != want {
					t.Errorf("%#x, x0 %d: return address %#x, %v", pc, made, ra, ok)
				}
			}
		}
	}
}

func TestRefusalAndNewThreadHaveRowsOfTheirOwnOnARM64(t *testing.T) {
	tab, clone, code := cloneOf(t, forARM)
	at := uint64(0)
	for binary.LittleEndian.Uint32(code[at:]) != svcARM64 {
		at += 4
	}
	if _, row, ok := tab.Rule(frames.Query{PC: clone.Value + at + 4}); !ok || row == nil || row.CFAExpr != nil {
		t.Errorf("behind the call of clone the row is %+v, %v", row, ok)
	}
	if _, row, _ := refuse(); row.CFAExpr == nil {
		t.Errorf("a refusal is %+v", row)
	}
}
