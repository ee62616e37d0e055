// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

// A stub that pops its return address and jumps into the method that it would have returned to has ended.
func TestExceptionLandsInItsCaller(t *testing.T) {
	const stub, method, other, sp = 0x1000, 0x2000, 0x3000, 0x7000
	jumpRAX := []byte{0xff, 0xe0}
	for name, c := range map[string]struct {
		to   uint64
		held bool
		more uint64
		left int
	}{
		"into the caller":                          {method + 0x90, true, 0, 1},
		"into other code":                          {other, true, 0, 2},
		"while the return address is in its place": {method + 0x90, false, 0, 2},
		"from behind an adapter":                   {method + 0x90, true, 0x28, 1},
	} {
		o := &javaRun{prev: frames.Regs{PC: stub, Arch: frames.X86_64}, regs: frames.Regs{PC: c.to, Arch: frames.X86_64},
			kinds:  map[uint64]string{stub: "_rethrow_stub", c.to: "nmethod", method + 0x40: "nmethod", other: "nmethod", 0: ""},
			pieces: map[uint64]uint64{method + 0x40: method, method + 0x90: method, other: other, 0x4040: 0x4000},
			tally:  &JavaTally{},
			calls: []javaCall{{pc: 0x4040, slot: sp + 0x40, kept: sp + 0x40}, {pc: method + 0x40, slot: sp,
				kept: sp - c.more, popped: c.held}},
			base: 2,
		}
		o.tally.init()
		o.prev.Set(frames.X86RSP, sp+8)
		o.regs.Set(frames.X86RSP, sp+8)
		b := make([]byte, 0x80)
		binary.LittleEndian.PutUint64(b, method+0x40)
		o.snap = frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: b}, StackEnd: sp + 0x80}
		if err := o.follow(jumpRAX); err != nil || len(o.calls) != c.left || o.base != c.left {
			t.Errorf("jump %s: error %v, %d callers, %d from before the stretch, want %d", name, err, len(o.calls), o.base,
				c.left)
		}
	}
}

func TestExceptionLandsInAnInterpretedCaller(t *testing.T) {
	const throws, handles, invokes, sp = 0x1000, 0x1800, 0x1400, 0x7000
	for _, held := range []bool{true, false} {
		o := &javaRun{
			prev: frames.Regs{PC: throws, Arch: frames.X86_64}, regs: frames.Regs{PC: handles, Arch: frames.X86_64},
			kinds:  map[uint64]string{throws: interpreterName, handles: interpreterName, invokes: interpreterName, 0: ""},
			pieces: map[uint64]uint64{invokes: 0, handles: 0}, tally: &JavaTally{},
			calls: []javaCall{{pc: invokes, slot: sp, kept: sp - 8, popped: held}},
		}
		o.prev.Set(frames.X86RSP, sp+8)
		o.regs.Set(frames.X86RSP, sp+8)
		if got := o.landed(handles, sp+8); got != held || (len(o.calls) == 0) != held {
			t.Errorf("return address popped %v: landed is %v with %d callers, want removed only if popped", held, got,
				len(o.calls))
		}
	}
}

func TestExceptionLandsInACallerFromBeforeTheStretch(t *testing.T) {
	const stub, method, sp = 0x1000, 0x2000, 0x7000
	pop, jumpRBX := []byte{0x5a}, []byte{0xff, 0xe3}
	for name, c := range map[string]struct {
		stored uint64
		left   int
	}{"from where it was stored": {method + 0x40, 0}, "from elsewhere": {0x1234, 1}} {
		o := &javaRun{prev: frames.Regs{PC: stub, Arch: frames.X86_64}, regs: frames.Regs{PC: stub + 1, Arch: frames.X86_64},
			kinds: map[uint64]string{stub: "StubRoutines (1)", stub + 1: "StubRoutines (1)", method + 0x90: "nmethod",
				method + 0x40: "nmethod", 0: ""},
			pieces: map[uint64]uint64{method + 0x40: method, method + 0x90: method},
			tally:  &JavaTally{}, base: 1,
		}
		o.tally.init()
		b := make([]byte, 0x80)
		binary.LittleEndian.PutUint64(b, c.stored)
		o.snap = frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: b}, StackEnd: sp + 0x80}
		o.calls = []javaCall{o.found(&frames.Frame{PC: method + 0x40, SP: sp + 8}, &javaCallee{})}
		o.prev.Set(frames.X86RSP, sp)
		o.regs.Set(frames.X86RSP, sp+8)
		if err := o.follow(pop); err != nil {
			t.Errorf("return address %s: %v", name, err)
		}
		o.prev, o.regs.PC = o.regs, method+0x90
		if err := o.follow(jumpRBX); err != nil || len(o.calls) != c.left {
			t.Errorf("return address %s: error %v, %d callers, want %d", name, err, len(o.calls), c.left)
		}
	}
}
