package frames

import (
	"testing"
)

// armStack gives a recursion of n frames with signed return addresses. The outermost frame's
// stack pointer is known, or is not.
func armStack(n int, spKnown bool) (*Space, *Regs, *Snapshot) {
	src := &fakeSource{rules: map[Addr]Rule{}}
	calls := &fakeCalls{calls: map[Addr]Call{}}
	var words []uint64
	for i := range n {
		pc := Addr(0x1010 + 0x20*(i%8))
		src.rules[pc] = Rule{CFAReg: ARM64SP, CFAOff: 48, Method: MethodCFI, Saved: [NumCompact]uint8{6, 5, 2}}
		if i%8 == 3 {
			src.rules[pc] = Rule{CFAReg: ARM64FP, CFAOff: 48, Method: MethodCFI, Saved: [NumCompact]uint8{6, 5}}
		}
		calls.calls[pc] = Call{}
		outer := uint64(0x7000 + 48*(i+1))
		words = append(words, outer, 0x1010+0x20*uint64((i+1)%8)|5<<48, 3, 4, 5, 6)
	}
	words[6*(n-1)+1] = 0
	if !spKnown { // the frame before it is found by its record
		words[6*(n-1)+1] = 0x8010
		src.rules[0x8010] = Rule{Flags: FlagRoot}
		calls.calls[0x8010] = Call{}
		delete(src.rules, 0x1010+0x20*Addr((n-1)%8))
	}
	s := space(src, calls)
	s.Arch = AArch64
	regs := &Regs{Arch: AArch64, PC: 0x1010, PACMask: 0x7f << 48}
	regs.Set(ARM64SP, 0x7000)
	regs.Set(ARM64FP, 0x7000)
	return s, regs, stack(0x7000, words...)
}

func TestTrailOfArm64FramesWithSignedReturnAddresses(t *testing.T) {
	s, regs, mem := armStack(50, true)
	var p twice
	for i := range 3 {
		putWord(mem, 0x7000+16, uint64(i))
		p.look(t, s, regs, mem, -1)
	}
	if p.joins != 2 || p.skipped != 2*49 {
		t.Fatalf("%d joins, %d frames skipped, stack %d %v", p.joins, p.skipped, len(p.stack), p.with.StopReason())
	}
	other := *regs
	other.PACMask = 0xff << 48
	p.look(t, s, &other, mem, -1)
	if p.joins != 2 {
		t.Fatal("a trail was used whose return addresses were read in another way")
	}
}

func TestTrailEndsWhereTheStackPointerIsNotKnown(t *testing.T) {
	s, regs, mem := armStack(7, false)
	var p twice
	for range 3 {
		p.look(t, s, regs, mem, -1)
	}
	if p.joins != 0 || p.trail.Len() != 0 || p.stack[len(p.stack)-1].SP != 0 {
		t.Fatalf("%d joins, %d frames kept, last %+v", p.joins, p.trail.Len(), p.stack[len(p.stack)-1])
	}
}
