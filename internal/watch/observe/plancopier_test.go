// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
	"prywalk/ptrace"
)

type planArena struct {
	bytes []byte
	at    uint64
}

func newPlanArena(n int) *planArena {
	b := make([]byte, n)
	return &planArena{b, uint64(uintptr(unsafe.Pointer(&b[0])))}
}

func (a *planArena) put(off int, v uint64) { binary.LittleEndian.PutUint64(a.bytes[off:], v) }

func (c *planCopier) run(plan *managed.Plan, anchor uint64, out []frames.Region) []frames.Region {
	rd := ptrace.NewReader(os.Getpid(), nil)
	rd.AllowReads(maxPlanReads)
	c.plan, c.anchor = plan, anchor
	regs := frames.Regs{}
	return out[:c.Regions(&regs, &rd, out)]
}

func newPlanned() (*planCopier, []frames.Region) {
	return &planCopier{buf: make([]byte, managed.MaxBytes)}, make([]frames.Region, maxPlanRegions)
}

// nodes links n nodes at a distance in bytes, each with an object 64 bytes behind it.
func (a *planArena) nodes(first, n, distance int) {
	for i := range n {
		at := first + i*distance
		if i+1 < n {
			a.put(at, a.at+uint64(at+distance))
		}
		a.put(at+8, a.at+uint64(at+64))
		a.put(at+64, 1000+uint64(i))
	}
}

func TestPlanCopiesWhatItSays(t *testing.T) {
	const n, distance = 20, 3000
	a := newPlanArena(1 << 17)
	a.put(0, a.at+4096)
	a.put(8, a.at+100)
	a.nodes(4096, n, distance)
	known := &managed.SkipSet{}
	plan := &managed.Plan{Skip: known, Steps: []managed.Step{
		{Op: managed.Load, Base: 0, Off: 8, To: 4},
		{Op: managed.Copy, Base: 0, End: 4, Max: 1 << 10},
		{Op: managed.Load, Base: 0, To: 3},
		{Op: managed.CopyList, Base: 3, Size: 16, Max: 100},
		{Op: managed.CopyTargets, Off: 8, Size: 8, Max: 100},
	}}
	p, out := newPlanned()
	snap := frames.Snapshot{Others: p.run(plan, a.at, out)}
	for i := range n {
		at := a.at + 4096 + uint64(i*distance)
		if v, ok := snap.Word(at + 64); !ok || v != 1000+uint64(i) {
			t.Errorf("object %d: %d, %v", i, v, ok)
		}
		known.Add(at + 64)
	}
	if _, ok := snap.Word(a.at + 88); !ok {
		t.Error("the piece was not copied to its end")
	}
	reads := len(p.run(plan, a.at, out))
	plan.Steps = plan.Steps[:4]
	if without := len(p.run(plan, a.at, out)); reads != without {
		t.Errorf("%d reads where all objects are known, %d without them", reads, without)
	}
}

func TestPlanEnds(t *testing.T) {
	a := newPlanArena(1 << 20)
	a.put(0, a.at)
	chain := managed.Step{Op: managed.CopyList, Size: 16, Max: 1 << 30}
	p, out := newPlanned()
	for name, steps := range map[string][]managed.Step{
		"circle":         {chain},
		"nothing there":  {{Op: managed.Load, Off: -1 << 40, To: 3}, chain},
		"unknown slots":  {{Op: managed.Load, Base: 200, To: 201}, {Op: managed.Copy, Base: 77, Max: 1 << 31}, chain},
		"too large":      {{Op: managed.Copy, Max: 1<<32 - 1}},
		"too many steps": make([]managed.Step, 1000),
		"node too large": {{Op: managed.CopyList, Size: 1<<32 - 1, Max: 3, Next: -1 << 31}},
	} {
		total := 0
		for _, r := range p.run(&managed.Plan{Steps: steps}, a.at, out) {
			total += len(r.Bytes)
		}
		if total > managed.MaxBytes {
			t.Errorf("%s: %d bytes", name, total)
		}
	}
}

func TestDeepChainsAreCopiedInFewReads(t *testing.T) {
	const n, distance = 600, 144
	a := newPlanArena(1 << 18)
	first := 1 << 17
	for i := range n {
		a.put(first-i*distance, a.at+uint64(first-(i+1)*distance))
	}
	a.put(first-(n-1)*distance, 0)
	p, out := newPlanned()
	got := p.run(&managed.Plan{Steps: []managed.Step{{Op: managed.CopyList, Size: 80, Max: managed.MaxNodes}}},
		a.at+uint64(first), out)
	if p.nodeCount != n || len(got) > 12 {
		t.Errorf("%d of %d nodes in %d reads", p.nodeCount, n, len(got))
	}
}

func TestNodesFarFromEachOtherLeaveRoomForWhatTheyLeadTo(t *testing.T) {
	const n, distance = 60, 20 << 10
	a := newPlanArena(n*distance + 1<<16)
	a.nodes(8192, n, distance)
	for i := range n {
		at := 8192 + i*distance
		a.put(at+8, a.at+uint64(at+10_000))
		a.put(at+10_000, 1000+uint64(i))
	}
	plan := &managed.Plan{Skip: &managed.SkipSet{}, Steps: []managed.Step{
		{Op: managed.CopyList, Size: 120, Max: 100}, {Op: managed.CopyTargets, Off: 8, Size: 160, Max: 64},
	}}
	p, out := newPlanned()
	snap := frames.Snapshot{Others: p.run(plan, a.at+8192, out)}
	total := 0
	for _, r := range snap.Others {
		total += len(r.Bytes)
	}
	for i := range n {
		if v, ok := snap.Word(a.at + uint64(8192+i*distance+10_000)); !ok || v != 1000+uint64(i) {
			t.Fatalf("%d of %d objects were copied; %d bytes in all", i, n, total)
		}
	}
	if most := n*(120+160) + 2*pageSize; total > most {
		t.Errorf("%d bytes were copied, at most %d are of use", total, most)
	}
}

func TestNodesOfACutListAreSaved(t *testing.T) {
	a := newPlanArena(1 << 16)
	const objects = 32 << 10
	for i := range 2 {
		a.put(4096+64*i, a.at+uint64(4096+64*(i+1)))
		a.put(4096+64*i+8, a.at+uint64(objects+4096*i))
	}
	a.put(4096+64, 1<<40) // unreadable
	p, out := newPlanned()
	snap := frames.Snapshot{Others: p.run(&managed.Plan{Skip: &managed.SkipSet{}, Steps: []managed.Step{
		{Op: managed.CopyList, Base: 0, Size: 16, Max: 100},
		{Op: managed.CopyTargets, Off: 8, Size: 8, Max: 100},
		{Op: managed.RestoreNodes},
		{Op: managed.CopyTargets, Off: 8, Next: 2048, Size: 8, Max: 100},
	}}, a.at+4096, out)}
	for i := range 2 {
		at := a.at + objects + uint64(4096*i)
		for _, at := range []uint64{at, at + 2048} {
			if _, ok := snap.Word(at); !ok {
				t.Errorf("%#x, of node %d, was not copied", at-a.at, i)
			}
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	a := newPlanArena(1 << 16)
	a.nodes(4096, 30, 160)
	a.put(0, a.at+4096)
	a.put(8, a.at+4096+30*160)
	known := &managed.SkipSet{}
	for i := range 30 {
		known.Add(a.at + 4096 + uint64(i*160) + 64)
	}
	plan := &managed.Plan{Skip: known, Steps: []managed.Step{
		{Op: managed.Copy, Max: 360}, {Op: managed.Load, To: 3}, {Op: managed.Load, Off: 8, To: 4},
		{Op: managed.Copy, Base: 3, End: 4, Max: 32 << 10}, {Op: managed.CopyList, Base: 3, Size: 80, Max: managed.MaxNodes},
		{Op: managed.CopyTargets, Off: 8, Size: 8, Max: 64},
	}}
	p, out := newPlanned()
	b.ReportAllocs()
	rd := ptrace.NewReader(os.Getpid(), nil)
	regs := frames.Regs{}
	reads := 0
	for b.Loop() {
		p.plan, p.anchor = plan, a.at
		rd = ptrace.NewReader(os.Getpid(), nil)
		rd.AllowReads(maxPlanReads)
		before := rd.ReadsLeft()
		p.Regions(&regs, &rd, out)
		reads = before - rd.ReadsLeft()
	}
	b.ReportMetric(float64(reads), "reads/op")
}

func TestAChainThatJoinsTheFirstIsCopiedOnce(t *testing.T) {
	const n = 20
	a := newPlanArena(1 << 17)
	a.nodes(4096, n, 3000)
	a.put(0, a.at+4096)
	a.put(8, a.at+4096+3000)
	a.put(16, a.at+1<<16)
	a.nodes(1<<16, 1, 64)
	chain := func(off int64) []managed.Step {
		return []managed.Step{{Op: managed.Load, Off: off, To: 4}, {Op: managed.CopyList, Base: 4, Size: 16, Max: 100}}
	}
	p, out := newPlanned()
	alone := len(p.run(&managed.Plan{Steps: chain(0)}, a.at, out))
	joined := len(p.run(&managed.Plan{Steps: append(chain(0), chain(8)...)}, a.at, out))
	if joined > alone+1 || p.nodeCount != n {
		t.Errorf("%d reads with a second chain, %d without; %d nodes", joined, alone, p.nodeCount)
	}
	p.run(&managed.Plan{Steps: append(chain(0), chain(16)...)}, a.at, out)
	if p.nodeCount != 1 || p.nodes[0] != a.at+1<<16 {
		t.Errorf("%d nodes of a chain of its own", p.nodeCount)
	}
}

// The example of plancopier.go.
func TestTheCopyIsAsTheExampleSays(t *testing.T) {
	const (
		base    = 0x7f3c18000000
		slots   = managed.SlotFirstFree
		thread  = 0x4000
		code    = 0x3a4f0
		gen     = 0x51258
		chunk   = 0x100000
		module  = chunk + 0x20
		f       = chunk + 0xa0
		top     = chunk + 0x168
		fCode   = base + 0x3b000
		modCode = base + 0x3c000
		none    = 0x55d0c0de0000
		stackAt = 0x7ffd35c2a000
		ofC     = 0x1d0
	)
	b, err := unix.Mmap(-1, 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	a := &planArena{b, uint64(uintptr(unsafe.Pointer(&b[0])))}
	known := &managed.SkipSet{}
	for _, to := range []uint64{fCode, modCode, none} {
		known.Add(to)
	}
	a.put(thread+0xe8, a.at+chunk)
	a.put(thread+0xf0, a.at+top)
	a.put(thread+0x48, a.at+gen)
	a.put(gen, a.at+code)
	a.put(gen+8, a.at+f)
	a.put(f, fCode)
	a.put(f+8, a.at+module)
	a.put(module, modCode)
	a.put(module+8, stackAt+ofC)
	stack := make([]byte, pageSize)
	binary.LittleEndian.PutUint64(stack[ofC:], none)
	plan := &managed.Plan{Skip: known, Steps: []managed.Step{
		{Op: managed.Copy, Base: managed.SlotAnchor, Max: 0x100},
		{Op: managed.Load, Base: managed.SlotAnchor, Off: 0xe8, To: slots},
		{Op: managed.Load, Base: managed.SlotAnchor, Off: 0xf0, To: slots + 1},
		{Op: managed.Copy, Base: slots, End: slots + 1, Max: 32 << 10},
		{Op: managed.Load, Base: managed.SlotAnchor, Off: 0x48, To: slots + 2},
		{Op: managed.CopyList, Base: slots + 2, Size: 0x50, Next: 8, Max: managed.MaxNodes},
		{Op: managed.CopyTargets, Size: 0x90, Max: 64},
	}}
	mem := procmem.OpenMemory(os.Getpid())
	defer mem.Close()
	var found frames.Addr
	p, out := newPlanned()
	rd, regs := ptrace.NewReader(os.Getpid(), mem), frames.Regs{}
	observe := func() (regions []frames.Region, reads int) {
		rd = ptrace.NewReader(os.Getpid(), mem)
		rd.AllowReads(maxPlanReads)
		rd.SetStack(stackAt, stack)
		p.use(plan, a.at+thread, 0, &found)
		before := rd.ReadsLeft()
		regions = out[:p.Regions(&regs, &rd, out)]
		return regions, before - rd.ReadsLeft()
	}
	regions, reads := observe()
	want := [][2]frames.Addr{
		{thread, thread + 0x100}, {chunk, top}, {gen &^ (pageSize - 1), gen&^(pageSize-1) + pageSize}, {code, code + 0x90},
	}
	if reads != len(want) || len(regions) != len(want) {
		t.Fatalf("%d regions in %d reads, want %d", len(regions), reads, len(want))
	}
	for i, w := range want {
		r := regions[i]
		if got := [2]frames.Addr{r.Addr - a.at, r.Addr + uint64(len(r.Bytes)) - a.at}; got != w {
			t.Errorf("region %d: %#x, want %#x", i+1, got, w)
		}
	}
	if len(p.savedNodes) != 4 || p.savedNodes[3] != stackAt+ofC {
		t.Errorf("nodes %#x, want 4, the last one in the stack", p.savedNodes)
	}
	if n := testing.AllocsPerRun(10, func() { observe() }); n != 0 {
		t.Errorf("%v allocations in an observation", n)
	}
}

func TestWhatWasSoughtIsFoundAgainInOneRead(t *testing.T) {
	const n, distance, size, word, tid = 10, 8192, 32, 16, 77
	a := newPlanArena(1 << 17)
	first := int(-a.at & 4095)
	a.put(0, a.at+uint64(first))
	for i := range n {
		at := first + i*distance
		if i+1 < n {
			a.put(at, a.at+uint64(at+distance))
		}
		a.put(at+word, uint64(tid-3+i))
	}
	plan := &managed.Plan{
		FindAnchor: []managed.Step{
			{Op: managed.Load, Off: int64(a.at), To: 4},
			{Op: managed.FindNode, Base: 4, Size: size, At: word, End: 3, Max: n},
		},
		Steps: []managed.Step{{Op: managed.Copy, Max: size}},
	}
	p, out := newPlanned()
	var sought frames.Addr
	run := func() (regions int, found bool) {
		p.foundAnchor, p.innerTID = &sought, tid
		snap := frames.Snapshot{Others: p.run(plan, 0, out)}
		for i := range n {
			if at := a.at + uint64(first+i*distance); sought == at {
				v, ok := snap.Word(at + word)
				return len(snap.Others), ok && v == tid
			}
		}
		return len(snap.Others), false
	}
	all, found := run()
	again, foundAgain := run()
	if !found || !foundAgain || again >= all || again != 1 {
		t.Errorf("%d regions, then %d; found %v, %v", all, again, found, foundAgain)
	}
	a.put(first+3*distance+word, 1)
	a.put(first+5*distance+word, tid)
	if _, found = run(); !found || sought != a.at+uint64(first+5*distance) {
		t.Errorf("not sought again: %#x, %v", sought, found)
	}
	a.put(first+5*distance+word, 1)
	if _, found = run(); found || sought != 0 {
		t.Errorf("%#x is taken for a thread's that has none, %v", sought, found)
	}
}

func TestCopyArrayMakesNodesOfItsElements(t *testing.T) {
	const n, size = 20, 24
	a := newPlanArena(1 << 16)
	a.put(0, a.at+1024)
	a.put(8, n*size/8)
	for i := range n {
		a.put(1024+i*size+16, a.at+uint64(1<<14+i/2*512))
		a.put(1<<14+i/2*512, 1000+uint64(i/2))
	}
	a.put(1024+5*size+16, 0x6c6962656c<<16)
	plan := &managed.Plan{Steps: []managed.Step{
		{Op: managed.Load, Base: 0, To: 4},
		{Op: managed.Load, Base: 0, To: 5},
		{Op: managed.AddScaled, Base: 0, Off: 8, Size: 8, To: 5},
		{Op: managed.CopyArray, Base: 4, End: 5, Max: 1 << 10, Size: size},
		{Op: managed.CopyTargets, Off: 16, Size: 8, Max: 100},
	}}
	p, out := newPlanned()
	for _, near := range []bool{false, true} {
		plan.Steps[4].WholePage = near
		snap := frames.Snapshot{Others: p.run(plan, a.at, out)}
		for i := range n / 2 {
			if v, ok := snap.Word(a.at + uint64(1<<14+i*512)); !ok || v != 1000+uint64(i) {
				t.Errorf("near %v, object %d: %d, %v", near, i, v, ok)
			}
		}
		if p.nodeCount != n/2 {
			t.Errorf("near %v: %d objects, not %d", near, p.nodeCount, n/2)
		}
		if _, ok := snap.Word(a.at + 1024 + n*size); ok {
			t.Error("the row was copied beyond its end")
		}
	}
}

func TestCopyTargetsSelectsNodesByAMaskedWord(t *testing.T) {
	const n = 8
	a := newPlanArena(1 << 16)
	a.nodes(4096, n, 512)
	for i := range n {
		a.put(4096+i*512+16, uint64(i%2)|0x100)
		a.put(4096+i*512+24, a.at+uint64(4096+i*512+128))
		a.put(4096+i*512+128, 2000+uint64(i))
	}
	step := managed.Step{Op: managed.CopyTargets, Off: 24, Size: 8, Max: n, At: 16, Mask: 1, Value: 1}
	rest := step
	rest.Value, rest.Max = 0, 1
	plan := &managed.Plan{Steps: []managed.Step{
		{Op: managed.CopyList, Base: managed.SlotZero, Off: int64(a.at + 4096), Size: 32, Max: n},
		{Op: managed.SaveNodes},
		step,
		{Op: managed.RestoreNodes},
		rest,
	}}
	p, out := newPlanned()
	p.run(plan, a.at, out)
	if want := a.at + 4096 + 128; p.nodeCount != 1 || p.nodes[0] != want {
		t.Errorf("the last step has led to %d nodes, the first at %#x, not one at %#x", p.nodeCount, p.nodes[0],
			want)
	}
	p.run(&managed.Plan{Steps: plan.Steps[:3]}, a.at, out)
	if want := a.at + 4096 + 512 + 128; p.nodeCount != n/2 || p.nodes[0] != want {
		t.Errorf("the first step has led to %d nodes, the first at %#x, not %d from %#x", p.nodeCount, p.nodes[0],
			n/2, want)
	}
}
