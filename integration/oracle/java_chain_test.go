package oracle

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

// TestAnExceptionLandsInItsCaller: a stub that pops its return address and jumps into the method that it would have
// returned to is gone, and its caller is no caller any more. A jump elsewhere leaves the chain as it is.
func TestAnExceptionLandsInItsCaller(t *testing.T) {
	const stub, method, other, sp = 0x1000, 0x2000, 0x3000, 0x7000
	jumpRAX := []byte{0xff, 0xe0}
	for name, c := range map[string]struct {
		to   uint64
		held bool
		left int
	}{
		"into the caller":                          {method + 0x90, true, 1},
		"into other code":                          {other, true, 2},
		"while the return address is in its place": {method + 0x90, false, 2},
	} {
		o := &javaRun{prev: frames.Regs{PC: stub, Arch: frames.X86_64}, regs: frames.Regs{PC: c.to, Arch: frames.X86_64},
			kinds:  map[uint64]string{stub: "_rethrow_stub", c.to: "nmethod", method + 0x40: "nmethod", other: "nmethod", 0: ""},
			pieces: map[uint64]uint64{method + 0x40: method, method + 0x90: method, other: other, 0x4040: 0x4000},
			tally:  &JavaTally{},
			calls: []javaCall{{pc: 0x4040, slot: sp + 0x40, kept: sp + 0x40}, {pc: method + 0x40, slot: sp, kept: sp,
				held: c.held}},
			base: 2,
		}
		o.tally.init()
		o.prev.Set(frames.X86RSP, sp+8)
		o.regs.Set(frames.X86RSP, sp+8)
		b := make([]byte, 0x80)
		binary.LittleEndian.PutUint64(b, method+0x40)
		o.snap = frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: b}, StackEnd: sp + 0x80}
		if err := o.follow(jumpRAX); err != nil || len(o.calls) != c.left || o.base != c.left {
			t.Errorf("%s: %v, %d callers, %d of before, want %d", name, err, len(o.calls), o.base, c.left)
		}
	}
}
