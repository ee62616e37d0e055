// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"
	"os"
	"sync"
	"testing"

	"prywalk/frames"
	"prywalk/ptrace"
)

// begin prepares a search in a stop that has copied the top and n regions.
func (p *pieces) begin(base frames.Addr, rd *ptrace.Reader, out []frames.Region, n int) *stopCopy {
	p.have = stopCopy{frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:n]}, rd, out}
	return &p.have
}

// follows follows chains from the top. It gives what was copied, the number of bytes in addition to the top, and
// whether a chain has reached the outermost frame.
func follows(p *pieces, base frames.Addr) (have *stopCopy, copied int, ok bool) {
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	rd.Allow(pieceReads)
	have = p.begin(base, &rd, out, 0)
	_, ok = p.follow()
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	return have, copied, ok
}

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
	r := outlineHistory{steps: &steps{}}
	if r.learn(marks, true); len(r.marks) > maxMarks {
		t.Errorf("%d marks", len(r.marks))
	}
	_, copied, ok := follows(&pieces{search: search{by: &outline{steps: r.steps}}, top: mem[:topCopy]}, base)
	if ok || copied > mostFollowed {
		t.Errorf("%v, %d bytes: more than is read for a guess", ok, copied)
	}
	const fewer = n - maxMarks // what lies beyond the top is less than mostFollowed
	mem, top := mem[frame*fewer:], base+frame*fewer
	if _, _, ok := follows(&pieces{search: search{by: &outline{steps: r.steps}}, top: mem[:topCopy]}, top); !ok {
		t.Error("not followed")
	}
}

func TestNothingIsPrefetchedOfAStackThatEndsNear(t *testing.T) {
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}, marks: []mark{{at: base + 40<<10, pc: 0x401010}}}
	p := &pieces{search: search{by: by, root: base + 50<<10}, top: mem[:topCopy]}
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

func TestStepsAreLearnedWhileTheyAreAsked(t *testing.T) {
	s := &steps{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(4 * maxSteps) {
			s.learn(0x400010+16*i, 64)
		}
	})
	for i := range uint64(4 * maxSteps) {
		pc := 0x400010 + 16*i
		if got := s.size(pc); got != 0 && got != 64 {
			t.Errorf("asked for %#x, got %d", pc, got)
		}
		s.maybe(pc)
	}
	wg.Wait()
}

func TestFramesBehindAnUnknownOneAreFollowed(t *testing.T) {
	const inner, outer, root, n = 0x401010, 0x402010, 0x431010, 2 * maxStarts
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}}
	by.steps.learn(inner, 64)
	by.steps.learn(outer, 200<<10)
	by.steps.learn(root, sizeRoot)
	put := func(at int, pc uint64) { binary.LittleEndian.PutUint64(mem[at-8:], pc) }
	for i := range n {
		put(1024+64*i, inner)
	}
	put(1024+64*n, 0x999)
	put(1024+64*n+512, outer)
	put(1024+64*n+512+200<<10, root)
	if _, copied, ok := follows(&pieces{search: search{by: by}, top: mem[:topCopy]}, base); !ok || copied > 4<<10 {
		t.Errorf("%v, with %d bytes", ok, copied)
	}
}

// Each frame leads to the next, in circles.
func TestTheSearchInAStopIsBounded(t *testing.T) {
	const pc, size, depth = 0x401010, 16, 1 << 20
	mem, base := stackOf(t, depth)
	by := &outline{steps: &steps{}}
	by.steps.learn(pc, size)
	for at := 0; at < depth; at += 8 {
		binary.LittleEndian.PutUint64(mem[at:], pc)
	}
	p := &pieces{search: search{by: by, root: base + depth - copyMargin}, top: mem[:topCopy]}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	rd.Allow(p.Reads())
	have := p.begin(base, &rd, out, 0)
	p.copyFrames()
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

func TestNoBytesAreCopiedTwiceWhereFramesAreSmall(t *testing.T) {
	const frame, pc, root = 700, 0x401010, 0x431010
	const n = 40 << 10 / (frame + 4)
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}}
	by.steps.learn(pc, frame+4)
	by.steps.learn(root, sizeRoot)
	end := redZone
	for i := range n {
		end += frame + 4
		binary.LittleEndian.PutUint64(mem[end-8:], map[bool]uint64{true: root, false: pc}[i == n-1])
	}
	have, _, ok := follows(&pieces{search: search{by: by}, top: mem[:topCopy]}, base)
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

// The thread's own frames lead to unknown code.
func TestWhatIsLeftOfEndedFramesDoesNotHideTheThreads(t *testing.T) {
	const large, lone, outer, root, unknown = 0x401010, 0x402010, 0x403010, 0x431010, 0x421010
	const own, left, end, depth = 1024, 4096, 100 << 10, 300 << 10
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}}
	by.steps.learn(large, end-own)
	by.steps.learn(lone, depth-left)
	by.steps.learn(outer, depth-end-2048)
	by.steps.learn(root, sizeRoot)
	for at, pc := range map[int]uint64{own: large, left: lone, end: unknown, end + 2048: outer, depth: root} {
		binary.LittleEndian.PutUint64(mem[at-8:], pc)
	}
	p := &pieces{search: search{by: by}, top: mem[:topCopy]}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	have := p.begin(base, &rd, out, 0)
	p.copyFrames()
	copied := 0
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	if _, ok := have.Word(base + end + 2048 - 8); !ok || p.noChain || copied > 12<<10 {
		t.Errorf("copied %v, lost %v, %d bytes", ok, p.noChain, copied)
	}
}
