// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/binary"
	"os"
	"sync"
	"testing"

	"prywalk/frames"
	"prywalk/ptrace"
)

// of teaches the size of a frame in a function.
func of(t *steps, pc, size, start, end frames.Addr) {
	t.learn(pc, size, start, end)
	t.tell()
}

// follows goes along a stack's frames, and gives whether that led to the outermost, and how many bytes were copied.
func follows(p *pieces, base frames.Addr) (have *frames.Snapshot, copied int, ok bool) {
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	rd.Allow(pieceReads)
	have = &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
	_, ok = p.follow(&rd, have, out)
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	return have, copied, ok
}

// TestFramesOfKnownFunctionsAreFollowed: the return addresses are new, and so is the place that the thread is at.
func TestFramesOfKnownFunctionsAreFollowed(t *testing.T) {
	const fn, fnEnd, other, otherEnd, root, size = 0x401000, 0x411000, 0x421000, 0x422000, 0x431010, 1 << 20
	mem, base := stackOf(t, size)
	by := &outline{steps: &steps{}}
	of(by.steps, fn+0x10, 100<<10, fn, fnEnd)
	of(by.steps, other+0x10, 3<<10, other, otherEnd)
	learned(by.steps, root, sizeRoot)
	put := func(at int, pc uint64) { binary.LittleEndian.PutUint64(mem[at-8:], pc) }
	first := redZone + 100<<10
	put(first, other+0x90)
	put(first+3<<10, fn+0xf000)
	put(first+103<<10, root)
	p := &pieces{by: by, top: mem[:topCopy], pc: fn + 0x8000}
	have, copied, ok := follows(p, base)
	if _, there := have.Word(base + uint64(first) + 103<<10 - 8); !ok || !there || copied > 8<<10 {
		t.Errorf("%v, the outermost frame %v, with %d bytes", ok, there, copied)
	}
	p.pc = fnEnd + 0x10 // in another function, of which nothing is known
	if _, _, ok := follows(p, base); ok {
		t.Error("an unknown function's frame was followed")
	}
	p.pc = fn // where a function begins it has no frame
	if _, _, ok := follows(p, base); ok {
		t.Error("a function's first instruction has its frame")
	}
}

// TestAlignedFramesAreFollowedByTheSizeThatFits: the caller's stack pointer decides how much of a frame is for that.
func TestAlignedFramesAreFollowedByTheSizeThatFits(t *testing.T) {
	const fn, fnEnd, root = 0x401000, 0x402000, 0x431010
	for _, size := range []int{50 << 10, 50<<10 + 16, 50<<10 + 32, 50<<10 + 160, 50<<10 - 96} {
		mem, base := stackOf(t, 1<<20)
		by := &outline{steps: &steps{}}
		for i := range uint64(3) {
			of(by.steps, fn+0x10, 50<<10+16*i, fn, fnEnd)
		}
		learned(by.steps, root, sizeRoot)
		binary.LittleEndian.PutUint64(mem[redZone+size-8:], root)
		if have, _, ok := follows(&pieces{by: by, top: mem[:topCopy], pc: fn + 0x20}, base); !ok {
			t.Errorf("size %d: not followed", size)
		} else if _, there := have.Word(base + redZone + uint64(size) - savedBelow); !there {
			t.Errorf("size %d: the registers saved there were not copied", size)
		}
	}
}

// TestStacksOfManyFramesAreFollowed: more than marks are kept of.
func TestStacksOfManyFramesAreFollowed(t *testing.T) {
	const frame, n, pc, root = 512, 4 * maxMarks, 0x401010, 0x431010
	mem, base := stackOf(t, frame*(n+8))
	var marks []mark
	for i := 1; i <= n; i++ {
		m := mark{at: base + redZone + frame*uint64(i), pc: pc}
		if i == n {
			m.pc = root
		}
		binary.LittleEndian.PutUint64(mem[m.at-base-8:], m.pc)
		marks = append(marks, m)
	}
	r := remembered{steps: &steps{}}
	if r.learn(&walk{marks: marks, complete: true}); len(r.marks) > maxMarks {
		t.Errorf("%d marks", len(r.marks))
	}
	_, copied, ok := follows(&pieces{by: &outline{steps: r.steps}, top: mem[:topCopy]}, base)
	if ok || copied > mostFollowed {
		t.Errorf("%v, %d bytes: more than is read for a guess", ok, copied)
	}
	const fewer = n - maxMarks // what lies beyond the top is less than mostFollowed
	mem, top := mem[frame*fewer:], base+frame*fewer
	if _, _, ok := follows(&pieces{by: &outline{steps: r.steps}, top: mem[:topCopy]}, top); !ok {
		t.Error("not followed")
	}
}

// TestNothingIsForeseenOfAStackThatEndsNear: all of it is copied.
func TestNothingIsForeseenOfAStackThatEndsNear(t *testing.T) {
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}, marks: []mark{{at: base + 40<<10, pc: 0x401010}}}
	p := &pieces{by: by, top: mem[:topCopy], root: base + 50<<10}
	p.reserve(p.need)
	regs := &frames.Regs{Arch: frames.X86_64}
	regs.Set(frames.X86_64.SP(), base+redZone)
	if n := len(p.Prefetch(regs)); n != 0 {
		t.Errorf("%d places", n)
	}
	if p.root = base + 100<<10; len(p.Prefetch(regs)) != 1 {
		t.Error("nothing is foreseen of a stack that ends far away")
	}
}

// TestFunctionsAreBounded: there are no more than are kept, and they are found by their bounds.
func TestFunctionsAreBounded(t *testing.T) {
	var f functions
	for i := range uint64(3 * mostFuncs) {
		start := 0x400000 + 0x100*(i*7%(3*mostFuncs))
		f.learn(start+8, 64, start, start+0x80)
		if got := f.find(start + 0x80); len(f.list) > mostFuncs || got == nil || got.start != start {
			t.Fatalf("%d functions, %v", len(f.list), got)
		}
		if f.find(start) != nil && f.find(start).start == start || f.find(start+0x81) != nil {
			t.Fatal("found beyond its bounds")
		}
	}
	f = functions{}
	for i := range uint64(100) {
		f.learn(0x401010, 64+16*i, 0x401000, 0x402000)
	}
	if f.list[0].n != mostSizes {
		t.Errorf("%d sizes", f.list[0].n)
	}
	if f.learn(0x501010, sizeRoot, 0x501000, 0x502000) || f.learn(0x501010, mostCopy, 0x501000, 0x502000) {
		t.Error("what is no frame's size was learned")
	}
}

// TestStepsAreLearnedWhileTheyAreAsked: by another goroutine.
func TestStepsAreLearnedWhileTheyAreAsked(t *testing.T) {
	s := &steps{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(4 * maxSteps) {
			of(s, 0x400010+16*i, 64, 0x400000+16*i, 0x400018+16*i)
		}
	})
	for i := range uint64(4 * maxSteps) {
		pc := 0x400010 + 16*i
		if got := s.find(pc); got.pc != 0 && got.pc != pc {
			t.Errorf("asked for %#x, got %#x", pc, got.pc)
		}
		s.maybe(pc)
		s.isLarge(pc)
		s.knowsFunction(pc)
	}
	wg.Wait()
}

// TestFramesBehindAnUnknownOneAreFollowed: however many known ones lie before it.
func TestFramesBehindAnUnknownOneAreFollowed(t *testing.T) {
	const inner, outer, root, n = 0x401010, 0x402010, 0x431010, 2 * maxStarts
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}}
	learned(by.steps, inner, 64)
	learned(by.steps, outer, 200<<10)
	learned(by.steps, root, sizeRoot)
	put := func(at int, pc uint64) { binary.LittleEndian.PutUint64(mem[at-8:], pc) }
	for i := range n {
		put(1024+64*i, inner)
	}
	put(1024+64*n, 0x999)
	put(1024+64*n+512, outer)
	put(1024+64*n+512+200<<10, root)
	if _, copied, ok := follows(&pieces{by: by, top: mem[:topCopy]}, base); !ok || copied > 4<<10 {
		t.Errorf("%v, with %d bytes", ok, copied)
	}
}

// TestAFrameThatTellsWhereItEndsIsFollowedByThat: what is left of an earlier call, whose frame was aligned otherwise,
// looks like its end, too, and leads to the outermost frame.
func TestAFrameThatTellsWhereItEndsIsFollowedByThat(t *testing.T) {
	const fn, fnEnd, root, least, link = 0x401000, 0x402000, 0x431010, 50 << 10, 50<<10 - 120
	const sp = redZone + 64
	for _, c := range []struct {
		name        string
		byLink      bool
		frame, left int // the size of the frame, and the one that it is taken for by what is left
	}{
		{"link", true, least + 64, least},
		{"link, the smaller one", true, least, least + 64},
		{"link, far larger", true, least + 192, least},
		{"frame pointer", false, least + 64, least},
		{"frame pointer, the smaller one", false, least, least + 64},
	} {
		mem, base := stackOf(t, 1<<20)
		put := func(at int, v uint64) { binary.LittleEndian.PutUint64(mem[at:], v) }
		by := &outline{steps: &steps{}}
		for _, size := range []uint64{least, least + 64} {
			of(by.steps, fn+0x10, size, fn, fnEnd)
		}
		learned(by.steps, root, sizeRoot)
		f := by.steps.fns.find(fn + 0x10)
		whole := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: mem}}
		if c.byLink {
			put(sp+link, base+sp+least+32) // of a walk before
			if !f.learnLink(whole, base+sp, base+sp+least+32) || f.learnLink(whole, base+sp, base+sp+least+32) {
				t.Error("the link was not learned once")
			}
			put(sp+link, base+sp+uint64(c.frame))
		} else {
			f.learnLink(whole, base+sp, base+sp+least)
			put(sp-32, base+sp+uint64(c.frame)-fpBelow)
		}
		by.steps.tell()
		put(sp-8, fn+0x10)
		put(sp+c.left-8, root)
		put(sp+c.frame-8, root)
		p := &pieces{by: by, top: mem[:topCopy]}
		if _, _, ok := follows(p, base); !ok || p.reached != base+uint64(sp+c.frame) {
			t.Errorf("%s: %v, it was followed to %d, want %d", c.name, ok, p.reached-base, sp+c.frame)
		}
	}
}

// TestTheSearchInAStopIsBounded: also where each frame leads to the next, over and over. The rest is copied at once.
func TestTheSearchInAStopIsBounded(t *testing.T) {
	const fn, fnEnd, size, depth = 0x401000, 0x402000, 16, 1 << 20
	mem, base := stackOf(t, depth)
	by := &outline{steps: &steps{}}
	for i := range uint64(3) {
		of(by.steps, fn+0x10, size+16*i, fn, fnEnd)
	}
	for at := 0; at < depth; at += 8 {
		binary.LittleEndian.PutUint64(mem[at:], fn+0x10)
	}
	p := &pieces{by: by, top: mem[:topCopy], root: base + depth - copyMargin}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	rd.Allow(p.Reads())
	have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
	p.goAlong(&rd, have, out)
	if p.left > 0 || p.left < -maxSearch/8 {
		t.Errorf("%d frames are left of %d", p.left, maxSearch)
	}
	if _, ok := have.Word(base + depth - copyMargin - 8); !ok {
		t.Error("the outermost frame was not copied")
	}
	if used := p.Reads() - rd.Left(); used > p.Reads()-readsKept+1 {
		t.Errorf("%d reads", used)
	}
}

// TestFunctionsAreToldAtOnceToWhoLacksThem: else when some walks have been made, since each time all are copied.
func TestFunctionsAreToldAtOnceToWhoLacksThem(t *testing.T) {
	r := remembered{steps: &steps{}}
	learn := func(pc frames.Addr) bool {
		start := pc &^ 0xff
		r.walks++
		r.untold = r.steps.learn(pc, 64, start, start+0x80) || r.untold
		return r.untold
	}
	const n = 10 * tellAgain
	for i := range frames.Addr(n) {
		learn(0x400010 + 0x100*i)
	}
	r.tell(true)
	told := func() int { return len(r.steps.functions().list) }
	if told() != n {
		t.Fatalf("%d of %d functions", told(), n)
	}
	learn(0x500010)
	if r.tell(false); told() != n {
		t.Error("told at once to looks that lack none")
	}
	if r.tell(true); told() != n+1 {
		t.Error("not told to a look that was lost")
	}
	learn(0x500110)
	for range n/tellAgain + 1 {
		r.walks++
		r.tell(false)
	}
	if told() != n+2 {
		t.Error("never told")
	}
}

// TestNoBytesAreCopiedTwiceWhereFramesAreSmall: a piece begins where the one before ends.
func TestNoBytesAreCopiedTwiceWhereFramesAreSmall(t *testing.T) {
	const frame, pc, root = 700, 0x401010, 0x431010
	const n = 40 << 10 / (frame + 4)
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}}
	learned(by.steps, pc, frame+4)
	learned(by.steps, root, sizeRoot)
	end := redZone
	for i := range n {
		end += frame + 4
		binary.LittleEndian.PutUint64(mem[end-8:], map[bool]uint64{true: root, false: pc}[i == n-1])
	}
	have, _, ok := follows(&pieces{by: by, top: mem[:topCopy]}, base)
	if _, there := have.Word(base + uint64(end) - 8); !ok || !there {
		t.Fatalf("%v, the outermost frame %v", ok, there)
	}
	last := &have.Stack
	for i := range have.Others {
		if r := &have.Others[i]; r.Addr < last.Addr+uint64(len(last.Bytes)) {
			t.Errorf("a piece at %d begins before %d", r.Addr-base, last.Addr+uint64(len(last.Bytes))-base)
		}
		last = &have.Others[i]
	}
}

// TestWhatIsLeftOfEndedFramesDoesNotHideTheThreads: it leads to the outermost frame, while the thread's own frames lead
// to code that is not known. So a little of what lies there is copied as well.
func TestWhatIsLeftOfEndedFramesDoesNotHideTheThreads(t *testing.T) {
	const large, lone, outer, root, unknown = 0x401010, 0x402010, 0x403010, 0x431010, 0x421010
	const own, left, end, depth = 1024, 4096, 100 << 10, 300 << 10
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}}
	learned(by.steps, large, end-own)
	learned(by.steps, lone, depth-left)
	learned(by.steps, outer, depth-end-2048)
	learned(by.steps, root, sizeRoot)
	for at, pc := range map[int]uint64{own: large, left: lone, end: unknown, end + 2048: outer, depth: root} {
		binary.LittleEndian.PutUint64(mem[at-8:], pc)
	}
	p := &pieces{by: by, top: mem[:topCopy]}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
	p.goAlong(&rd, have, out)
	copied := 0
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	if _, ok := have.Word(base + end + 2048 - 8); !ok || p.lost || copied > 12<<10 {
		t.Errorf("copied %v, lost %v, %d bytes", ok, p.lost, copied)
	}
}
