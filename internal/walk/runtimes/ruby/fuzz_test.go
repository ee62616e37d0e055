// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

type image struct {
	at    uint64
	bytes []byte
}

func (img *image) Read(addr uint64, b []byte) int {
	if addr < img.at || addr-img.at >= uint64(len(img.bytes)) {
		return 0
	}
	return copy(b, img.bytes[addr-img.at:])
}

func (img *image) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := img.Read(addr, b[:]) == 8
	return binary.LittleEndian.Uint64(b[:]), ok
}

var library = []*frames.Module{{Name: "/lib/libruby-3.1.so.3.1"}}

func (img *image) Cut(uint64) bool                                       { return false }
func (img *image) Unchanged() bool                                       { return len(img.bytes)%2 == 0 }
func (img *image) Arch() frames.Arch                                     { return frames.X86_64 }
func (img *image) Modules() []*frames.Module                             { return library }
func (img *image) ReadCode(addr uint64, b []byte) int                    { return img.Read(addr, b) }
func (img *image) CodeAnalysis() *heuristics.Source                      { return nil }
func (img *image) Section(*frames.Module, string) (uint64, []byte, bool) { return 0, nil, false }

func (img *image) OwnSymbols(mod *frames.Module, names ...string) (all []managed.Symbol) {
	for _, n := range names {
		at, size, _ := img.Symbol(mod, n)
		all = append(all, managed.Symbol{Name: n, Addr: at, Size: size})
	}
	return all
}

func (img *image) Symbol(_ *frames.Module, name string) (uint64, uint64, bool) {
	switch name {
	case symVM:
		return img.at + 16, 8, len(img.bytes)%3 == 0
	case symExec:
		return img.at + 1<<20, 1 << 12, len(img.bytes)%5 == 0
	case symObject:
		return img.at + 8, 8, true
	}
	return img.at, 64, true
}

type still struct{}

func (still) Mark([]int) bool { return true }
func (still) Slept() bool     { return true }

func readFibers(r *Runtime, at uint64) {
	r.Coroutines(still{})
	p := &r.fibers.pool
	p.at, p.vmSize = at, 4096
	p.isPool(at)
	p.contexts(func(ec, stack uint64) { r.fibers.stacks[ec] = stack })
	places := []uint64{at, at + 1200}
	r.fibers.stacks[at+1200] = at + 2048
	r.TasksAt(places, still{}, func(uint64, managed.Task, bool) {})
}

func walkAll(r *Runtime, m *image) {
	regs := frames.Regs{Arch: frames.X86_64}
	regs.Set(frames.X86_64.SP(), m.at+256)
	for _, at := range []int64{1, 0} {
		r.Begin(&managed.Sample{InnerTID: 7, Regs: &regs, Mem: m, At: at, Live: m})
		var out []managed.Ref
		for sp := m.at + 256; sp < m.at+2048; sp += 256 {
			out, _ = r.ManagedFrames(&frames.Frame{PC: m.at + 1<<20 + 8, SP: sp, AfterCall: sp > m.at+256}, sp+256, out)
		}
		out, _ = r.ManagedFrames(&frames.Frame{PC: 1, SP: m.at + 2048}, managed.Outermost, out)
		r.End()
		for _, ref := range out {
			r.Symbolize(ref, m, nil)
		}
	}
	r.Anchor(7, 0)
	r.Anchor(7, m.at)
	r.Waiting(&managed.WaitQuery{InnerTID: 7, Word: m.at + 8, Mem: m, Live: m})
	for _, kind := range []objectKind{isCode, isMethod, isOwner} {
		kindSource{&r.known, kind}.Read(m.at, nil)
	}
	r.vm.findSymbols()
	readFibers(r, m.at)
}

func thread31(at uint64) []byte {
	b := make([]byte, 4096)
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(b[off:], v) }
	copy(b, "3.1.2\x00")
	put(8, 1)
	put(16, at+64)        // machine
	put(64+8, at+128+568) // ractor
	put(128+304, at+1024) // its thread
	put(1024+32, at+64)   // its machine
	put(1024+40, at+1200) // its context
	put(1200, at+2048)    // VM stack
	put(1200+8, 256)      // words
	put(1200+16, at+4096-128)
	put(1200+24, at+1400)
	put(1200+48, at+1024)
	for frame, flags := range map[int]uint64{4096 - 128: 0x11110023, 4096 - 64: magicDummy | flagFinish} {
		put(frame, at+1600)
		put(frame+frameISeq, at+1500)
		put(frame+frameEP, at+uint64(frame)-900)
		put(frame-900, flags)
	}
	put(1400+24, at+1<<20+4)
	put(1500, typeImemo|imemoISeq<<imemoShift)
	put(1500+16, at+1560)
	put(1560+bodyISeqEncoded, at+1592)
	put(1560+bodyLabel, at+1800)
	put(1560+bodyPath, at+1800)
	put(1800, typeString|4<<shortLenShift)
	put(1816, 0x6e69616d)
	return b
}

func TestAThreadsFrameIsFound(t *testing.T) {
	const at = 1 << 32
	m := &image{at, slices.Concat(thread31(at), make([]byte, 2))}
	rt, err := Detect(m)
	if err != nil || rt == nil {
		t.Fatalf("%v, %v", rt, err)
	}
	if name := rt.Name(); name != "Ruby 3.1.2" {
		t.Error(name)
	}
}

func FuzzWalk(f *testing.F) {
	const at = 1 << 32
	for _, more := range []int{0, 1, 2, 5, 14} {
		f.Add(slices.Concat(thread31(at), make([]byte, more)), uint64(at), uint8(2))
	}
	self := make([]byte, 4096)
	for i := 0; i < len(self); i += 8 {
		binary.LittleEndian.PutUint64(self[i:], at)
	}
	f.Add(self, uint64(at), uint8(0))
	f.Add(self, uint64(at), uint8(5))
	f.Fuzz(func(_ *testing.T, b []byte, at uint64, release uint8) {
		m := &image{at, b}
		if rt, err := Detect(m); err == nil && rt != nil {
			walkAll(rt.(*Runtime), m)
		}
		l := layouts[int(release)%len(layouts)]
		r := newRuntime(m, library[0], &l)
		r.vm.addr, r.vm.cObjectAt, r.known.symbols, r.tagged.layout = at, at, at, jumpLayouts[release%2]
		r.vm.threads.list = []thread{{at: at, pthread: at, tid: 7}, {at: at + 1024, pthread: at, tid: 7}}
		walkAll(r, m)
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint64(3), 2)
	f.Fuzz(func(_ *testing.T, succ []byte, position uint64, n int) {
		l := lines{succ: succ, entries: make([]int32, uint(n)%1000)}
		l.lineAt(position)
	})
}

func TestLineOfEveryPositionIsFound(t *testing.T) {
	positions := []int{0, 3, 9, 10, 53, 54, 60, 117, 118, 300, 565, 566, 700}
	l := lines{succ: table(positions, 800), entries: make([]int32, len(positions))}
	for i := range l.entries {
		l.entries[i] = int32(100 + i)
	}
	for p := range 800 {
		want := 0
		for i, q := range positions {
			if q <= p {
				want = 100 + i
			}
		}
		if got := l.lineAt(uint64(p + 1)); got != want {
			t.Errorf("position %d is at line %d, not %d", p, got, want)
		}
	}
}

func table(positions []int, size int) []byte {
	b := make([]byte, succSize(uint64(size)))
	word := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], binary.LittleEndian.Uint64(b[at:])|v) }
	rank, before := 0, 0
	for p := range size {
		at := immWords*8 + (p-immPositions)/blockPositions*blockSize
		bit := (p - immPositions) % blockPositions
		if p >= immPositions && bit == 0 {
			before = rank
			word(at, uint64(before))
		}
		if p >= immPositions && bit%64 == 0 && bit > 0 {
			word(at+8, uint64(rank-before)<<((bit/64-1)*rankBits))
		}
		if slices.Contains(positions, p) {
			rank++
			if p >= immPositions {
				word(at+16+bit/64*8, 1<<(bit%64))
			}
		}
		if p < immPositions {
			word(p/immRanks*8, uint64(rank)<<(p%immRanks*immBits))
		}
	}
	return b
}
