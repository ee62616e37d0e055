package gotables

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

// TestNewThreadBehindCloneHasNoCaller: at the instructions behind the system call the new
// thread has no caller, and the one that made it has one.
func TestNewThreadBehindCloneHasNoCaller(t *testing.T) {
	path := build(t, source, noCgo)
	tab, f := open(t, path)
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var clone elf.Symbol
	for _, s := range syms {
		if s.Name == "runtime.clone.abi0" || s.Name == "runtime.clone" && clone.Value == 0 {
			clone = s
		}
	}
	code := make([]byte, clone.Size)
	if clone.Size == 0 || !tab.img.read(clone.Value, code) {
		t.Fatalf("%+v cannot be read", clone)
	}
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
