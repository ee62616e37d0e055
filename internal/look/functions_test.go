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
	var walk []mark
	for i := 1; i <= n; i++ {
		m := mark{at: base + redZone + frame*uint64(i), pc: pc}
		if i == n {
			m.pc = root
		}
		binary.LittleEndian.PutUint64(mem[m.at-base-8:], m.pc)
		walk = append(walk, m)
	}
	r := remembered{steps: &steps{}}
	if r.learn(nil, walk, true); len(r.marks) > maxMarks {
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
