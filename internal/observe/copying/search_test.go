// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"encoding/binary"
	"os"
	"sync"
	"testing"

	"prywalk/frames"
	"prywalk/ptrace"
)

const roomForRegions = 8 + MaxRegions

func (c *DeepCopier) begin(base frames.Addr, rd *ptrace.Reader, out []frames.Region, n int) *stopCopy {
	c.memory = stopCopy{frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: c.top}, Others: out[:n]}, rd, out}
	return &c.memory
}

// follows returns what was copied, the number of bytes beyond the top, and whether a chain has reached the outermost
// frame.
func follows(p *DeepCopier, base frames.Addr) (have *stopCopy, copied int, ok bool) {
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	rd.AllowReads(pieceReads)
	have = p.begin(base, &rd, out, 0)
	_, ok = p.followTop()
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	return have, copied, ok
}

func TestStacksOfManyFramesAreFollowed(t *testing.T) {
	const frame, n, pc, root = 512, 4 * maxEnds, 0x401010, 0x431010
	mem, base := stackOf(t, frame*(n+8))
	var ends []frameEnd
	for i := 1; i <= n; i++ {
		m := frameEnd{at: base + RedZone + frame*uint64(i), pc: pc}
		if i == n {
			m.pc = root
		}
		binary.LittleEndian.PutUint64(mem[m.at-base-8:], m.pc)
		ends = append(ends, m)
	}
	r := history{sizes: &frameSizes{}}
	if r.learn(ends, true); len(r.ends) > maxEnds {
		t.Errorf("%d ends", len(r.ends))
	}
	_, copied, ok := follows(&DeepCopier{search: search{outline: &Outline{sizes: r.sizes}}, top: mem[:TopBytes]}, base)
	if ok || copied > maxFollowed {
		t.Errorf("%v, %d bytes: more than is read for a guess", ok, copied)
	}
	const fewer = n - maxEnds
	mem, top := mem[frame*fewer:], base+frame*fewer
	if _, _, ok := follows(&DeepCopier{search: search{outline: &Outline{sizes: r.sizes}}, top: mem[:TopBytes]}, top); !ok {
		t.Error("not followed")
	}
}

func TestNothingIsPrefetchedOfAStackThatEndsNear(t *testing.T) {
	mem, base := stackOf(t, 1<<20)
	by := &Outline{sizes: &frameSizes{}, ends: []frameEnd{{at: base + 40<<10, pc: 0x401010}}}
	p := &DeepCopier{search: search{outline: by, root: base + 50<<10}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	regs := &frames.Regs{Arch: frames.X86_64}
	regs.Set(frames.X86_64.SP(), base+RedZone)
	if n := len(p.Prefetch(regs)); n != 0 {
		t.Errorf("%d places", n)
	}
	if p.root = base + 100<<10; len(p.Prefetch(regs)) != 1 {
		t.Error("nothing is foreseen of a stack that ends far away")
	}
}

func TestStepsAreLearnedWhileTheyAreAsked(t *testing.T) {
	s := &frameSizes{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(4 * maxSizes) {
			s.learn(0x400010+16*i, 64)
		}
	})
	for i := range uint64(4 * maxSizes) {
		pc := 0x400010 + 16*i
		if got := s.size(pc); got != 0 && got != 64 {
			t.Errorf("asked for %#x, got %d", pc, got)
		}
		s.mayHave(pc)
	}
	wg.Wait()
}

func TestFramesBehindAnUnknownOneAreFollowed(t *testing.T) {
	const inner, outer, root, n = 0x401010, 0x402010, 0x431010, 2 * maxStarts
	mem, base := stackOf(t, 1<<20)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(inner, 64)
	by.sizes.learn(outer, 200<<10)
	by.sizes.learn(root, sizeRoot)
	put := func(at int, pc uint64) { binary.LittleEndian.PutUint64(mem[at-8:], pc) }
	for i := range n {
		put(1024+64*i, inner)
	}
	put(1024+64*n, 0x999)
	put(1024+64*n+512, outer)
	put(1024+64*n+512+200<<10, root)
	c := &DeepCopier{search: search{outline: by}, top: mem[:TopBytes]}
	if _, copied, ok := follows(c, base); !ok || copied > 4<<10 {
		t.Errorf("%v, with %d bytes", ok, copied)
	}
}

// The example of doc.go; its addresses count from 0x7f0fff000.
func TestTheSearchIsAsTheExampleSays(t *testing.T) {
	const readAll, load, main, from = 0x401136, 0x4011c2, 0x401210, 0x7f0fff000
	mem, base := stackOf(t, 1<<20)
	h := history{sizes: &frameSizes{}}
	h.learn([]frameEnd{
		{at: base + 0x7f10000a0 - from, pc: readAll}, {at: base + 0x7f10200e0 - from, pc: load},
		{at: base + 0x7f1030130 - from, pc: main},
	}, true)
	for pc, want := range map[frames.Addr]frames.Addr{readAll: 0x20040, load: 0x10050, main: sizeRoot} {
		if got := h.sizes.size(pc); got != want {
			t.Errorf("frame size at %#x: %#x, want %#x", pc, got, want)
		}
	}
	for at, pc := range map[uint64]uint64{0x7f0fff0a0: readAll, 0x7f101f0e0: load, 0x7f102f130: main} {
		binary.LittleEndian.PutUint64(mem[at-from-8:], pc)
	}
	p := &DeepCopier{search: search{outline: h.outline()}, top: mem[:TopBytes]}
	have, copied, ok := follows(p, base)
	if !ok || copied != 2*768 || (TopBytes+copied)>>10 != 25 {
		t.Errorf("%v, %d bytes beyond the top", ok, copied)
	}
	for i, end := range []uint64{0x7f101f0e0, 0x7f102f130} {
		if r := have.Others[i]; r.Addr != base+end-from-pieceBelow {
			t.Errorf("piece %d begins at %#x", i, r.Addr-base+from)
		}
	}
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	if n := testing.AllocsPerRun(10, func() {
		rd.AllowReads(pieceReads)
		p.begin(base, &rd, out, 0)
		p.followTop()
	}); n != 0 {
		t.Errorf("%v allocations in a search", n)
	}
}

// Each frame leads to the next, in circles.
func TestTheSearchInAStopIsBounded(t *testing.T) {
	const pc, size, depth = 0x401010, 16, 1 << 20
	mem, base := stackOf(t, depth)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(pc, size)
	for at := 0; at < depth; at += 8 {
		binary.LittleEndian.PutUint64(mem[at:], pc)
	}
	p := &DeepCopier{search: search{outline: by, root: base + depth - Margin}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	rd.AllowReads(p.ReadLimit())
	have := p.begin(base, &rd, out, 0)
	p.copyFrames()
	if p.framesLeft > 0 || p.framesLeft < -maxSearch/8 {
		t.Errorf("%d frames are left of %d", p.framesLeft, maxSearch)
	}
	if _, ok := have.Word(base + depth - Margin - 8); !ok {
		t.Error("the outermost frame was not copied")
	}
	if used := p.ReadLimit() - rd.ReadsLeft(); used > p.ReadLimit()-readsKept+1 {
		t.Errorf("%d reads", used)
	}
}

func TestNoBytesAreCopiedTwiceWhereFramesAreSmall(t *testing.T) {
	const frame, pc, root = 700, 0x401010, 0x431010
	const n = 40 << 10 / (frame + 4)
	mem, base := stackOf(t, 1<<20)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(pc, frame+4)
	by.sizes.learn(root, sizeRoot)
	end := RedZone
	for i := range n {
		end += frame + 4
		binary.LittleEndian.PutUint64(mem[end-8:], map[bool]uint64{true: root, false: pc}[i == n-1])
	}
	have, _, ok := follows(&DeepCopier{search: search{outline: by}, top: mem[:TopBytes]}, base)
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

func TestWhatIsLeftOfEndedFramesDoesNotHideTheThreads(t *testing.T) {
	const large, lone, outer, root, unknown = 0x401010, 0x402010, 0x403010, 0x431010, 0x421010
	const own, left, end, depth = 1024, 4096, 100 << 10, 300 << 10
	mem, base := stackOf(t, 1<<20)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(large, end-own)
	by.sizes.learn(lone, depth-left)
	by.sizes.learn(outer, depth-end-2048)
	by.sizes.learn(root, sizeRoot)
	for at, pc := range map[int]uint64{own: large, left: lone, end: unknown, end + 2048: outer, depth: root} {
		binary.LittleEndian.PutUint64(mem[at-8:], pc)
	}
	p := &DeepCopier{search: search{outline: by}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	have := p.begin(base, &rd, out, 0)
	p.copyFrames()
	copied := 0
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	if _, ok := have.Word(base + end + 2048 - 8); !ok || p.outlineFailed || copied > 12<<10 {
		t.Errorf("copied %v, lost %v, %d bytes", ok, p.outlineFailed, copied)
	}
}
