// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"encoding/binary"
	"os"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/ptrace"
)

func TestFramesAreFollowedToPlacesWhereNoneWasSeen(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	base := uint64(reflect.ValueOf(mem).Pointer())
	put := func(at, pc uint64) { binary.LittleEndian.PutUint64(mem[at-8:], pc) }
	const inner, large, root = 0x401010, 0x402010, 0x403010
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(inner, 64)
	by.sizes.learn(large, 300<<10)
	by.sizes.learn(root, sizeRoot)
	put(4096, large) // no known frame follows
	put(8192, inner)
	put(8192+64, large)
	put(8192+64+300<<10, root)
	p := &DeepCopier{search: search{outline: by, inOnePiece: 1 << 20}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	have := p.begin(base, &rd, out, 0)
	if _, ok := p.followTop(); !ok {
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
	have.drop(0)
	if _, ok := p.followTop(); ok {
		t.Error("an unknown return address was taken for the outermost")
	}
}

func TestUnknownFramesAreCopiedUpToAKnownOne(t *testing.T) {
	const kept, lone, root, size = 0x401010, 0x402010, 0x403010, 1 << 20
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	base := uint64(reflect.ValueOf(mem).Pointer())
	put := func(at, pc uint64) { binary.LittleEndian.PutUint64(mem[at-8:], pc) }
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(kept, 600<<10)
	by.sizes.learn(root, sizeRoot)
	put(4096, 0x999)
	put(50<<10, lone)
	put(100<<10, kept)
	put(700<<10, root)
	for _, at := range []uint64{50 << 10, 60 << 10, 100 << 10} {
		by.ends = append(by.ends, frameEnd{at: base + at, pc: kept})
	}
	by.ends[0].pc = lone
	p := &DeepCopier{search: search{outline: by, inOnePiece: size}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	copied := func() (n int) {
		rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
		for i := range by.ends {
			out[i] = frames.Region{Addr: by.ends[i].at - pieceBelow, Bytes: mem[by.ends[i].at-base-pieceBelow:][:pieceBelow]}
		}
		have := p.begin(base, &rd, out, len(by.ends))
		reached, ok := p.followTop()
		if ok {
			t.Error("the unknown function was known")
		}
		p.copyUntilChain(reached)
		for at := uint64(TopBytes); at < 100<<10; at += 8 {
			if _, ok := have.Word(base + at); !ok {
				t.Fatalf("%d bytes further in than a frame that is known were not copied", 100<<10-at)
			}
		}
		for _, r := range have.Others[len(by.ends):] {
			n += len(r.Bytes)
		}
		return n
	}
	if n := copied(); n > 100<<10-TopBytes+pieceBelow+endAbove {
		t.Errorf("%d bytes", n)
	}
	put(100<<10, 0x998)
	if n := copied(); n < 700<<10-TopBytes || n == size-TopBytes {
		t.Errorf("%d bytes where the outermost frame only is known", n)
	}
	put(700<<10, 0x997)
	if n := copied(); n != size-TopBytes {
		t.Errorf("%d bytes where no frame is known, want all", n)
	}
}

func stackOf(t *testing.T, size int) (mem []byte, base uint64) {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return mem, uint64(reflect.ValueOf(mem).Pointer())
}

func TestFramesBehindLargeOnesAreCopied(t *testing.T) {
	const large, varies, root, size = 0x401010, 0x402010, 0x403010, 2 << 20
	const first, second, third = 8192, 8192 + 300<<10, 8192 + 600<<10
	mem, base := stackOf(t, size)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(large, 300<<10)
	by.sizes.learn(root, sizeRoot)
	by.sizes.learn(varies, 64)
	by.sizes.learn(varies, 128)
	for at, pc := range map[int]uint64{first: large, second: large, third: varies, third + 192: root} {
		binary.LittleEndian.PutUint64(mem[at-8:], pc)
	}
	p := &DeepCopier{search: search{outline: by, inOnePiece: 64 << 10, root: base + third + 4096}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	have := p.begin(base, &rd, out, 0)
	reached, ok := p.followTop()
	if ok || reached != base+third {
		t.Fatalf("%v, it came to %d, want %d", ok, reached-base, third)
	}
	p.copyUntilChain(reached)
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

func TestUnknownFramesAreCopiedUpToTheNextKnownOne(t *testing.T) {
	const inner, outer, root, size = 0x401010, 0x402010, 0x403010, 1 << 20
	mem, base := stackOf(t, size)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(inner, 10<<10)
	by.sizes.learn(outer, 200<<10)
	by.sizes.learn(root, sizeRoot)
	for at, pc := range map[int]uint64{
		8192: inner, 18 << 10: 0x999, TopBytes + 4<<10: inner, TopBytes + 12<<10: outer, TopBytes + 212<<10: root,
	} {
		binary.LittleEndian.PutUint64(mem[at-8:], pc)
	}
	deep := search{outline: by, inOnePiece: 64 << 10, root: base + TopBytes + 212<<10}
	p := &DeepCopier{search: deep, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	have := p.begin(base, &rd, out, 0)
	reached, ok := p.followTop()
	if ok {
		t.Fatal("the unknown function was known")
	}
	p.copyUntilChain(reached)
	copied := 0
	for _, r := range have.Others {
		copied += len(r.Bytes)
	}
	for _, at := range []uint64{TopBytes + 4<<10 - 8, TopBytes + 12<<10 - 8, TopBytes + 212<<10 - 8} {
		if _, ok := have.Word(base + at); !ok {
			t.Errorf("the word at %d was not copied", at)
		}
	}
	if copied > 24<<10 {
		t.Errorf("%d bytes copied", copied)
	}
}

func TestAStackIsCopiedFromWhereItsTopEnds(t *testing.T) {
	const inner, size = 0x401010, 1 << 20
	mem, base := stackOf(t, size)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(inner, 40<<10)
	for at := 1024; at < TopBytes; at += 1024 {
		binary.LittleEndian.PutUint64(mem[at-8:], inner)
		binary.LittleEndian.PutUint64(mem[at+40<<10-8:], inner)
	}
	p := &DeepCopier{search: search{outline: by, inOnePiece: 128 << 10, root: base + 128<<10}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	have := p.begin(base, &rd, out, 0)
	reached, ok := p.followTop()
	if ok || reached < base+TopBytes {
		t.Fatalf("%v, it came to %d", ok, int64(reached-base))
	}
	p.copyUntilChain(reached)
	if _, ok := have.Word(base + 128<<10 - 8); !ok {
		t.Errorf("the outermost frame was not copied; it came to %d", reached-base)
	}
}

func TestFramesOfSeveralSizesAreNotFollowed(t *testing.T) {
	var s frameSizes
	for pc := range uint64(3 * maxSizes) {
		s.learn(pc+1, 64)
		if s.count > maxSizes || s.size(pc+1) != 64 {
			t.Fatalf("%d steps, size %d", s.count, s.size(pc+1))
		}
	}
	if s.learn(3*maxSizes, 64) || !s.learn(3*maxSizes, 128) || s.learn(3*maxSizes, 64) ||
		s.size(3*maxSizes) != sizeVaries {
		t.Error("a frame has the size that it had last")
	}
}

func TestStacksWithTooManyFramesForPiecesAreCopiedInOne(t *testing.T) {
	for _, c := range []struct {
		frames int
		size   uint64
		fit    bool
	}{
		{12, 70 << 10, true}, {1000, 48, true}, {60, 2 << 10, true}, {300, 2 << 10, false}, {1000, 150, false},
		{maxChain, 24, false},
	} {
		var w WalkedFrames
		for i := range c.frames {
			w.Add(&frames.Frame{AfterCall: true, PC: 0x401010, SP: 0x1000 + uint64(i)*c.size})
		}
		if got := w.fit(); got != c.fit {
			t.Errorf("%d frames of %d bytes fit: %v, want %v", c.frames, c.size, got, c.fit)
		}
	}
}

func TestOutlineForgetsTheOldest(t *testing.T) {
	r := history{sizes: &frameSizes{}}
	for i := range uint64(1000) {
		r.learn([]frameEnd{{at: 0x1000 + 64*i, pc: 0x401000}, {at: 0x100000, pc: 0x402000}}, true)
		if len(r.ends) > maxEnds || r.ends[len(r.ends)-1].at != 0x100000 {
			t.Fatalf("%d ends, the last %#x", len(r.ends), r.ends[len(r.ends)-1].at)
		}
	}
}

func TestOutlineHasAtMostTheEndsOfOneLongWalk(t *testing.T) {
	h := history{sizes: &frameSizes{}}
	for walk := range uint64(4) {
		ends := make([]frameEnd, maxEnds)
		for i := range ends {
			ends[i] = frameEnd{at: walk<<20 + 64*uint64(i), pc: 0x401000}
		}
		if h.learn(ends, true); len(h.ends) > maxEnds {
			t.Fatalf("%d ends after %d walks", len(h.ends), walk+1)
		}
	}
}

func TestSavedRegistersAreCopiedWithTheReturnAddress(t *testing.T) {
	const inner, root, size = 0x401010, 0x403010, 1 << 20
	const end = 100 << 10
	mem, base := stackOf(t, size)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(inner, end-8192)
	by.sizes.learn(root, sizeRoot)
	binary.LittleEndian.PutUint64(mem[8192-8:], inner)
	binary.LittleEndian.PutUint64(mem[end-8:], root)
	p := &DeepCopier{search: search{outline: by, inOnePiece: 64 << 10}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	out[0] = frames.Region{Addr: base + end - 16, Bytes: mem[end-16 : end+64]}
	have := p.begin(base, &rd, out, 1)
	if _, ok := p.followTop(); !ok {
		t.Fatal("it did not get to the outermost frame")
	}
	for at := uint64(end - savedBelow); at < end; at += 8 {
		if _, ok := have.Word(base + at); !ok {
			t.Errorf("the word %d below the frame's end was not copied", end-at)
		}
	}
}

func TestAStackWithoutAKnownFrameIsCopiedToItsEndIfThatIsNotFar(t *testing.T) {
	const large, root, depth = 0x401010, 0x403010, 120 << 10
	mem, base := stackOf(t, 1<<20)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(large, 30<<10)
	by.sizes.learn(root, sizeRoot)
	binary.LittleEndian.PutUint64(mem[8<<10-8:], large) // an ended frame
	p := &DeepCopier{search: search{outline: by, inOnePiece: 1 << 20, root: base + depth}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	for _, c := range []struct {
		root frames.Addr
		want int
	}{
		{base + depth, depth + Margin - TopBytes},
		{base + TopBytes + maxInFull, 0},
		{0, 0},
	} {
		p.root = c.root
		rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
		have := p.begin(base, &rd, out, 0)
		p.copyFrames()
		inOne := len(have.Others) == 1 && have.Others[0].Addr == base+TopBytes
		if !p.outlineFailed || c.want != 0 && (!inOne || len(have.Others[0].Bytes) != c.want) {
			t.Errorf("root %#x: %d pieces, lost %t", c.root, len(have.Others), p.outlineFailed)
		}
		if c.want == 0 && inOne && len(have.Others[0].Bytes) == depth+Margin-TopBytes {
			t.Errorf("root %#x: copied up to where it is not", c.root)
		}
	}
}

func TestACopyToTheEndDoesNotOverwriteThePiecesOfAFailedChain(t *testing.T) {
	const large, unknown, own, end, depth = 0x401010, 0x421010, 8 << 10, 70 << 10, 120 << 10
	mem, base := stackOf(t, 1<<20)
	by := &Outline{sizes: &frameSizes{}}
	by.sizes.learn(large, end-own)
	for at := 0; at < len(mem); at += 8 {
		binary.LittleEndian.PutUint64(mem[at:], uint64(at))
	}
	binary.LittleEndian.PutUint64(mem[own-8:], large)
	binary.LittleEndian.PutUint64(mem[end-8:], unknown)
	p := &DeepCopier{search: search{outline: by, inOnePiece: 1 << 20, root: base + depth}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	have := p.begin(base, &rd, out, 0)
	p.copyFrames()
	for at := uint64(0); at < depth; at += 8 {
		if v, ok := have.Word(base + at); !ok || v != binary.LittleEndian.Uint64(mem[at:]) {
			t.Fatalf("the word at %d of %d: %#x, %t", at, depth, v, ok)
		}
	}
}

func TestAStackThatEndsNearIsCopiedUpToThere(t *testing.T) {
	mem, base := stackOf(t, 1<<20)
	empty := &Outline{sizes: &frameSizes{}}
	p := &DeepCopier{search: search{outline: empty, inOnePiece: MinWhole}, top: mem[:TopBytes]}
	p.Reserve(p.inOnePiece)
	const none = -1
	for _, e := range []struct {
		root     frames.Addr
		changing bool
		want     int
	}{
		{base + 40<<10, false, 40<<10 + Margin - TopBytes},
		{base + MinWhole - Margin, false, MinWhole - TopBytes},
		{base + TopBytes - Margin, false, 0},
		{base + 1<<10, false, 0},
		{base + MinWhole, false, none},
		{base - 8, false, none},
		{base + 40<<10, true, none},
		{0, false, none},
	} {
		p.root, p.changesStacks = e.root, e.changing
		rd := ptrace.NewReader(os.Getpid(), nil)
		p.begin(base, &rd, nil, 0)
		rest, ok := p.copyToNearRoot(base + TopBytes)
		if ok != (e.want != none) || ok && len(rest.Bytes) != e.want || ok && e.want > 0 && rest.Addr != base+TopBytes {
			t.Errorf("%+v, stack at %#x: %v, %d bytes at %#x", e, base, ok, len(rest.Bytes), rest.Addr)
		}
	}
}
