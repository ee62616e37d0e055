// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"math"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// vmStack has frames that grow down from an end and values that grow up, as those of Ruby.
type vmStack struct {
	*planArena
	mem *procmem.Memory
	own rangeCache
}

const (
	vmThread, vmContext  = 0, 3 * pageSize
	vmValues, vmEnd      = 8 * pageSize, 16 * pageSize
	vmFrame, vmFrameSize = vmContext + 8, 56
)

func newVMStack(t *testing.T) *vmStack {
	t.Helper()
	b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	mem := procmem.OpenMemory(os.Getpid())
	t.Cleanup(func() { mem.Close(); _ = unix.Munmap(b) })
	v := &vmStack{planArena: &planArena{b, uint64(uintptr(unsafe.Pointer(&b[0])))}, mem: mem}
	for i := 0; i < len(b); i += 8 {
		v.put(i, uint64(i))
	}
	v.put(vmThread, v.at+vmContext)
	v.put(vmContext, v.at+vmEnd)
	return v
}

func (v *vmStack) plan() *managed.Plan {
	return &managed.Plan{Steps: []managed.Step{
		{Op: managed.Copy, Max: 64},
		{Op: managed.Load, To: 4},
		{Op: managed.Copy, Base: 4, Max: 64},
		{Op: managed.Load, Base: 4, To: 5},
		{Op: managed.Load, Base: 4, Off: 8, To: 6},
		{Op: managed.CopyArray, Base: 6, End: 5, Max: 64 << 10, Size: vmFrameSize},
		{Op: managed.Load, Base: 6, Off: 8, To: 7},
		{Op: managed.Copy, Base: managed.SlotZero, Off: int64(v.at) + vmValues, End: 7, Max: 64 << 10},
	}}
}

func (v *vmStack) observe(t *testing.T, p *PlanCopier, frameCount int) (reads int) {
	t.Helper()
	top, values := vmEnd-frameCount*vmFrameSize, vmValues+frameCount*200
	v.put(vmFrame, v.at+uint64(top))
	v.put(top+8, v.at+uint64(values))
	if v.own.checkPresent(v.mem); v.own.until != 0 {
		v.own.until = math.MaxInt64
	}
	rd := ptrace.NewReader(os.Getpid(), v.mem)
	rd.AllowReads(MaxPlanReads)
	p.plan, p.anchor, p.ranges.cache = v.plan(), v.at, &v.own
	out := make([]frames.Region, maxPlanRegions)
	before, regs := rd.ReadsLeft(), frames.Regs{}
	snap := frames.Snapshot{Others: out[:p.Copy(&regs, &rd, out, 0)]}
	if p.nodeCount != frameCount {
		t.Errorf("%d frames of %d", p.nodeCount, frameCount)
	}
	for _, r := range []memoryRange{{uint64(top), vmEnd}, {vmValues, uint64(values)}} {
		for at := r.from; at < r.to; at += 8 {
			want := at
			if at == uint64(top)+8 {
				want = v.at + uint64(values)
			}
			if got, ok := snap.Word(v.at + at); !ok || got != want {
				t.Fatalf("%d frames: the word at %d is %d, %v", frameCount, at, got, ok)
			}
		}
	}
	v.put(top+8, uint64(top)+8)
	return before - rd.ReadsLeft()
}

func TestRangesOfTheLastObservationAreReadInOneCall(t *testing.T) {
	v := newVMStack(t)
	p, _ := newPlanned()
	if n := v.observe(t, p, 20); n < 4 {
		t.Fatalf("%d reads, where nothing is foreseen", n)
	}
	if v.own.checkPresent(v.mem); v.own.until == 0 {
		t.Skip("needs PAGEMAP_SCAN or pagemap: a kernel that shows which pages are present")
	}
	for _, c := range []struct {
		what          string
		frames, reads int
	}{
		{"as before", 20, 1}, {"two more", 22, 3}, {"as many", 22, 1}, {"fewer", 4, 1}, {"a few more", 6, 1},
		{"many more", 90, 3},
	} {
		if n := v.observe(t, p, c.frames); n > c.reads {
			t.Errorf("%s: %d reads", c.what, n)
		}
	}
	for range 40 {
		v.observe(t, p, 3)
	}
	total := uint64(0)
	for _, r := range v.own.ranges[:v.own.n] {
		total += r.size()
	}
	if want := uint64(3*(vmFrameSize+200) + 2*64); total > 2*want {
		t.Errorf("%d bytes are foreseen where %d are used", total, want)
	}
}

func TestLastRangesEndAtMissingPages(t *testing.T) {
	v := newVMStack(t)
	p, _ := newPlanned()
	v.observe(t, p, 60)
	if v.own.checkPresent(v.mem); v.own.until == 0 {
		t.Skip("needs PAGEMAP_SCAN or pagemap: a kernel that shows which pages are present")
	}
	const gone = vmValues + pageSize
	if err := unix.Madvise(v.bytes[gone:gone+2*pageSize], unix.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	v.own.checkPresent(v.mem)
	for _, r := range v.own.ranges[:v.own.n] {
		if r.from < v.at+gone+2*pageSize && r.to > v.at+gone {
			t.Errorf("%#x to %#x is foreseen", r.from-v.at, r.to-v.at)
		}
	}
	v.observe(t, p, 10)
}
