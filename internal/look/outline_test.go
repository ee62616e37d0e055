// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/binary"
	"os"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// learned teaches the size of a return address's frame, of which is not known in what function it is.
func learned(t *steps, pc, size frames.Addr) {
	t.learn(pc, size, 0, 0)
	t.tell()
}

// TestFramesAreFollowedToPlacesWhereNoneWasSeen: by the sizes of their frames, past what is left of one that ended.
func TestFramesAreFollowedToPlacesWhereNoneWasSeen(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	base := uint64(reflect.ValueOf(mem).Pointer())
	put := func(at, pc uint64) { binary.LittleEndian.PutUint64(mem[at-8:], pc) }
	const inner, large, root = 0x401010, 0x402010, 0x403010
	by := &outline{steps: &steps{}}
	learned(by.steps, inner, 64)
	learned(by.steps, large, 300<<10)
	learned(by.steps, root, sizeRoot)
	put(4096, large) // what is left of a frame: nothing known follows
	put(8192, inner)
	put(8192+64, large)
	put(8192+64+300<<10, root)
	p := &pieces{by: by, need: 1 << 20, top: mem[:topCopy]}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
	if _, ok := p.follow(&rd, have, out); !ok {
		t.Fatal("it did not get to the outermost frame")
	}
	copied := 0
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	if v, ok := have.Word(base + 8192 + 64 + 300<<10 - 8); !ok || v != root || copied > 4<<10 {
		t.Errorf("%#x, %v, with %d bytes copied", v, ok, copied)
	}
	put(8192+64+300<<10, 0x999)
	have.Others = out[:0]
	if _, ok := p.follow(&rd, have, out); ok {
		t.Error("an unknown return address was taken for the outermost")
	}
}

// TestUnknownFramesAreCopiedUpToAKnownOne: what lies further out is where it was, and is not copied in one piece.
func TestUnknownFramesAreCopiedUpToAKnownOne(t *testing.T) {
	const kept, lone, root, size = 0x401010, 0x402010, 0x403010, 1 << 20
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	base := uint64(reflect.ValueOf(mem).Pointer())
	put := func(at, pc uint64) { binary.LittleEndian.PutUint64(mem[at-8:], pc) }
	by := &outline{steps: &steps{}}
	learned(by.steps, kept, 600<<10)
	learned(by.steps, root, sizeRoot)
	put(4096, 0x999) // a function that no walk has seen
	put(50<<10, lone)
	put(100<<10, kept)
	put(700<<10, root)
	for _, at := range []uint64{50 << 10, 60 << 10, 100 << 10} {
		by.marks = append(by.marks, mark{at: base + at, pc: kept})
	}
	by.marks[0].pc = lone // of which is not known how large its frame is
	p := &pieces{by: by, need: size, top: mem[:topCopy]}
	p.reserve(p.need)
	copied := func() (n int) {
		rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
		for i := range by.marks { // what was foreseen
			out[i] = frames.Region{Addr: by.marks[i].at - pieceBelow, Bytes: mem[by.marks[i].at-base-pieceBelow:][:pieceBelow]}
		}
		have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:len(by.marks)]}
		reached, ok := p.follow(&rd, have, out)
		if ok {
			t.Error("the unknown function was known")
		}
		p.bridge(&rd, have, out, reached)
		for at := uint64(topCopy); at < 100<<10; at += 8 {
			if _, ok := have.Word(base + at); !ok {
				t.Fatalf("%d bytes further in than a frame that is known were not copied", 100<<10-at)
			}
		}
		for _, r := range have.Others[len(by.marks):] {
			n += len(r.Bytes)
		}
		return n
	}
	if n := copied(); n > 100<<10-topCopy+pieceBelow+endAbove {
		t.Errorf("%d bytes", n)
	}
	put(100<<10, 0x998) // that frame has gone
	if n := copied(); n < 700<<10-topCopy || n == size-topCopy {
		t.Errorf("%d bytes where the outermost frame only is known", n)
	}
	put(700<<10, 0x997)
	if n := copied(); n != size-topCopy {
		t.Errorf("%d bytes where no frame is known, want all", n)
	}
}

// stackOf is memory that stands for a stack, with its address.
func stackOf(t *testing.T, size int) (mem []byte, base uint64) {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return mem, uint64(reflect.ValueOf(mem).Pointer())
}

// TestFramesBehindLargeOnesAreCopied: two large frames, whose function has called from other places in earlier walks,
// lie below one of changing size. What is copied are the words between the large ones, and all that follows them.
func TestFramesBehindLargeOnesAreCopied(t *testing.T) {
	const large, varies, root, size = 0x401010, 0x402010, 0x403010, 2 << 20
	const first, second, third = 8192, 8192 + 300<<10, 8192 + 600<<10
	mem, base := stackOf(t, size)
	by := &outline{steps: &steps{}}
	learned(by.steps, large, 300<<10)
	learned(by.steps, root, sizeRoot)
	learned(by.steps, varies, 64)
	learned(by.steps, varies, 128)
	for at, pc := range map[int]uint64{first: large + 0x200, second: large, third: varies, third + 192: root} {
		binary.LittleEndian.PutUint64(mem[at-8:], pc)
	}
	p := &pieces{by: by, need: 64 << 10, top: mem[:topCopy], root: base + third + 4096}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
	reached, ok := p.follow(&rd, have, out)
	if ok || reached != base+third {
		t.Fatalf("%v, it came to %d, want %d", ok, reached-base, third)
	}
	p.bridge(&rd, have, out, reached)
	copied := 0
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	for _, at := range []uint64{second - 8, third - 8, third, third + 192 - 8, third + 4096 - 8} {
		if _, ok := have.Word(base + at); !ok {
			t.Errorf("the word at %d was not copied", at)
		}
	}
	if copied > 16<<10 {
		t.Errorf("%d bytes copied", copied)
	}
}

// TestUnknownFramesAreCopiedUpToTheNextKnownOne: it lies at a new place, behind a frame that no walk has seen, in a
// stack whose end is known. What is left of a frame that has ended does not lead to the outermost.
func TestUnknownFramesAreCopiedUpToTheNextKnownOne(t *testing.T) {
	const inner, outer, root, size = 0x401010, 0x402010, 0x403010, 1 << 20
	mem, base := stackOf(t, size)
	by := &outline{steps: &steps{}}
	learned(by.steps, inner, 10<<10)
	learned(by.steps, outer, 200<<10)
	learned(by.steps, root, sizeRoot)
	for at, pc := range map[int]uint64{
		8192: inner, 18 << 10: 0x999, topCopy + 4<<10: inner, topCopy + 12<<10: outer, topCopy + 212<<10: root,
	} {
		binary.LittleEndian.PutUint64(mem[at-8:], pc)
	}
	p := &pieces{by: by, need: 64 << 10, top: mem[:topCopy], root: base + topCopy + 212<<10}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
	reached, ok := p.follow(&rd, have, out)
	if ok {
		t.Fatal("the unknown function was known")
	}
	p.bridge(&rd, have, out, reached)
	copied := 0
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	for _, at := range []uint64{topCopy + 4<<10 - 8, topCopy + 12<<10 - 8, topCopy + 212<<10 - 8} {
		if _, ok := have.Word(base + at); !ok {
			t.Errorf("the word at %d was not copied", at)
		}
	}
	if copied > 24<<10 {
		t.Errorf("%d bytes copied", copied)
	}
}

// TestAStackIsCopiedFromWhereItsTopEnds: also when all reads were spent on return addresses that led nowhere.
func TestAStackIsCopiedFromWhereItsTopEnds(t *testing.T) {
	const inner, size = 0x401010, 1 << 20
	mem, base := stackOf(t, size)
	by := &outline{steps: &steps{}}
	learned(by.steps, inner, 40<<10)
	for at := 1024; at < topCopy; at += 1024 {
		binary.LittleEndian.PutUint64(mem[at-8:], inner)
		binary.LittleEndian.PutUint64(mem[at+40<<10-8:], inner)
	}
	p := &pieces{by: by, need: 128 << 10, top: mem[:topCopy], root: base + 128<<10}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
	reached, ok := p.follow(&rd, have, out)
	if ok || reached < base+topCopy {
		t.Fatalf("%v, it came to %d", ok, int64(reached-base))
	}
	p.bridge(&rd, have, out, reached)
	if _, ok := have.Word(base + 128<<10 - 8); !ok {
		t.Errorf("the outermost frame was not copied; it came to %d", reached-base)
	}
}

// TestAThreadInALargeFrameIsFollowedFromThere: its own frame is that of a function that has called from elsewhere.
func TestAThreadInALargeFrameIsFollowedFromThere(t *testing.T) {
	const large, root, size = 0x401010, 0x403010, 1 << 20
	mem, base := stackOf(t, size)
	by := &outline{steps: &steps{}}
	learned(by.steps, large, 300<<10)
	learned(by.steps, root, sizeRoot)
	binary.LittleEndian.PutUint64(mem[redZone+300<<10-8:], root)
	p := &pieces{by: by, need: 64 << 10, top: mem[:topCopy], pc: large + 0x100}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
	if _, ok := p.follow(&rd, have, out); !ok || len(have.Others) != 1 {
		t.Errorf("%v, %d pieces", ok, len(have.Others))
	}
	p.pc = large + 2*nearBytes // of another function
	have.Others = out[:0]
	if reached, ok := p.follow(&rd, have, out); ok || reached != base+topCopy {
		t.Errorf("%v, it came to %d", ok, reached-base)
	}
}

func TestFewSizesOfALargeFrameAreKept(t *testing.T) {
	var l functions
	for i := range uint64(100) {
		got, want := l.learn(0x401010, largeFrom+64*i, 0, 0), i < mostSizes
		if got != want || l.learn(0x401010, largeFrom+64*i, 0, 0) {
			t.Errorf("size %d: %v", i, got)
		}
	}
	if !l.learn(0x402010, largeFrom, 0, 0) || l.learn(0x402010, largeFrom-8, 0, 0) || l.learn(0x402010, mostCopy, 0, 0) ||
		l.n != mostSizes+1 {
		t.Errorf("%d sizes", l.n)
	}
}

func TestFramesOfSeveralSizesAreNotFollowed(t *testing.T) {
	var s steps
	for pc := range uint64(3 * maxSteps) {
		s.learn(pc+1, 64, 0, 0)
		if s.n > maxSteps || s.find(pc+1).size != 64 {
			t.Fatalf("%d steps, size %d", s.n, s.find(pc+1).size)
		}
	}
	if s.learn(3*maxSteps, 64, 0, 0) || !s.learn(3*maxSteps, 128, 0, 0) || s.learn(3*maxSteps, 64, 0, 0) ||
		s.find(3*maxSteps).size != sizeVaries {
		t.Error("a frame has the size that it had last")
	}
}

func TestOutlineForgetsTheOldest(t *testing.T) {
	r := remembered{steps: &steps{}}
	for i := range uint64(1000) {
		r.learn(&walk{marks: []mark{{at: 0x1000 + 64*i, pc: 0x401000}, {at: 0x100000, pc: 0x402000}}, complete: true})
		if len(r.marks) > maxMarks || r.marks[len(r.marks)-1].at != 0x100000 {
			t.Fatalf("%d marks, the last %#x", len(r.marks), r.marks[len(r.marks)-1].at)
		}
	}
}

// TestSavedRegistersAreCopiedWithTheReturnAddress: an earlier walk's piece has the one and not the others.
func TestSavedRegistersAreCopiedWithTheReturnAddress(t *testing.T) {
	const inner, root, size = 0x401010, 0x403010, 1 << 20
	const end = 100 << 10 // of the large frame
	mem, base := stackOf(t, size)
	by := &outline{steps: &steps{}}
	learned(by.steps, inner, end-8192)
	learned(by.steps, root, sizeRoot)
	binary.LittleEndian.PutUint64(mem[8192-8:], inner)
	binary.LittleEndian.PutUint64(mem[end-8:], root)
	p := &pieces{by: by, need: 64 << 10, top: mem[:topCopy]}
	p.reserve(p.need)
	rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
	out[0] = frames.Region{Addr: base + end - 16, Bytes: mem[end-16 : end+64]}
	have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:1]}
	if _, ok := p.follow(&rd, have, out); !ok {
		t.Fatal("it did not get to the outermost frame")
	}
	for at := uint64(end - savedBelow); at < end; at += 8 {
		if _, ok := have.Word(base + at); !ok {
			t.Errorf("the word %d below the frame's end was not copied", end-at)
		}
	}
}

// TestAStackWithoutAKnownFrameIsCopiedToItsEndIfThatIsNotFar: what is left of frames that have ended leads nowhere.
func TestAStackWithoutAKnownFrameIsCopiedToItsEndIfThatIsNotFar(t *testing.T) {
	const large, root, depth = 0x401010, 0x403010, 120 << 10
	mem, base := stackOf(t, 1<<20)
	by := &outline{steps: &steps{}}
	learned(by.steps, large, 30<<10)
	learned(by.steps, root, sizeRoot)
	binary.LittleEndian.PutUint64(mem[8<<10-8:], large) // it has ended: behind it is nothing that is known
	p := &pieces{by: by, need: 1 << 20, root: base + depth, top: mem[:topCopy]}
	p.reserve(p.need)
	for _, c := range []struct {
		root frames.Addr
		want int // of one piece
	}{
		{base + depth, depth + copyMargin - topCopy},
		{base + topCopy + mostInFull, 0},
		{0, 0},
	} {
		p.root = c.root
		rd, out := ptrace.ReaderOf(os.Getpid(), nil), make([]frames.Region, maxRegions)
		have := &frames.Snapshot{Stack: frames.Region{Addr: base, Bytes: p.top}, Others: out[:0]}
		p.goAlong(&rd, have, out)
		inOne := len(have.Others) == 1 && have.Others[0].Addr == base+topCopy
		if !p.lost || c.want != 0 && (!inOne || len(have.Others[0].Bytes) != c.want) {
			t.Errorf("root %#x: %d pieces, lost %t", c.root, len(have.Others), p.lost)
		}
		if c.want == 0 && inOne && len(have.Others[0].Bytes) == depth+copyMargin-topCopy {
			t.Errorf("root %#x: copied up to where it is not", c.root)
		}
	}
}

// TestAStackThatEndsNearIsCopiedUpToThere: to look for the ends of its frames would take longer.
func TestAStackThatEndsNearIsCopiedUpToThere(t *testing.T) {
	mem, base := stackOf(t, 1<<20)
	p := &pieces{by: &outline{steps: &steps{}}, need: leastCopy, top: mem[:topCopy]}
	p.reserve(p.need)
	const none = -1
	for _, e := range []struct {
		root     frames.Addr
		changing bool
		want     int
	}{
		{base + 40<<10, false, 40<<10 + copyMargin - topCopy},
		{base + leastCopy - copyMargin, false, leastCopy - topCopy},
		{base + topCopy - copyMargin, false, 0},
		{base + 1<<10, false, 0},
		{base + leastCopy, false, none},
		{base - 8, false, none},
		{base + 40<<10, true, none},
		{0, false, none},
	} {
		p.root, p.changing = e.root, e.changing
		rd := ptrace.ReaderOf(os.Getpid(), nil)
		rest, ok := p.toRoot(&rd, base+topCopy)
		if ok != (e.want != none) || ok && len(rest.Bytes) != e.want || ok && e.want > 0 && rest.Addr != base+topCopy {
			t.Errorf("%+v, stack at %#x: %v, %d bytes at %#x", e, base, ok, len(rest.Bytes), rest.Addr)
		}
	}
}

// TestEndsOfFramesAreForeseen: before a stop, if the pages of all of them are there.
func TestEndsOfFramesAreForeseen(t *testing.T) {
	const size = 1 << 20
	b, base := stackOf(t, size)
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); err != nil {
		t.Fatal(err)
	}
	touch(b[:size/2])
	m := procmem.OpenMemory(os.Getpid())
	defer m.Close()
	m.SetSpans([]procmem.Span{{Start: base, End: base + size, Kind: procmem.Anonymous, Writable: true}})
	there, most := &outline{}, &outline{}
	for at := base + 4096; at < base+size/2; at += 16 << 10 {
		there.marks = append(there.marks, mark{at: at}, mark{at: at + 16})
		most.marks = append(most.marks, mark{at: at - 2048}, mark{at: at}, mark{at: at + 4096})
	}
	lacks := &outline{marks: []mark{{at: base + 4096}, {at: base + size*3/4}}}
	p := &pieces{by: there}
	if p.foresee(nil, there); p.Foreseen() != 0 {
		t.Error("foreseen of memory that is not known")
	}
	if p.foresee(m, there); p.Foreseen() == 0 {
		t.Skip("the kernel does not tell which pages are there")
	}
	p.by = lacks
	if p.Foreseen() != 0 {
		t.Error("what was foreseen was of another outline")
	}
	if p.foresee(m, lacks); p.Foreseen() != 0 {
		t.Error("a page that is not there was foreseen")
	}
	p.by = most
	if p.foresee(m, most); p.Foreseen() != 0 {
		t.Errorf("%d places were foreseen, at most %d are asked about", len(most.marks), len(p.spots))
	}
}
