// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// leaf ◄ inner ◄ outer (yield from inner) ◄ driver, which called outer.throw() ◄ module
func TestGeneratorThatPassesThrowOnHasNoLoopOfItsOwnIn311(t *testing.T) {
	const (
		base, tid             = 0x10000, 7
		leaf, inner, outer    = base + 0x400, base + 0x480, base + 0x500
		driver, module        = base + 0x580, base + 0x600
		newest, before        = base + 0x800, base + 0x900 // _PyCFrames
		ofGenerator, ofThread = ownedByGenerator, ownedByThread
	)
	for _, owner := range []byte{ofGenerator, ofThread} {
		m := &image{at: base, bytes: make([]byte, 0x1000)}
		r := newParts(&interpreter{layout: layouts[11], host: m})
		set := func(at uint64, off int64, v uint64) { binary.LittleEndian.PutUint64(m.bytes[at-base+uint64(off):], v) }
		frame := func(at, prev uint64, entry, owner byte) {
			set(at, r.python.framePrev, prev)
			m.bytes[at-base+uint64(r.python.frameEntry)], m.bytes[at-base+uint64(r.python.frameOwner)] = entry, owner
		}
		set(base, r.python.threadID, 1)
		set(base, r.python.threadNative, tid)
		set(base, r.python.threadFrame, newest)
		set(newest, r.python.cframeCurrent, leaf)
		set(newest, r.python.cframePrev, before)
		set(before, r.python.cframeCurrent, outer)
		set(before, r.python.cframePrev, base+8) // the thread state's own
		frame(leaf, inner, 0, ofThread)
		frame(inner, outer, 1, ofGenerator)
		frame(outer, driver, 1, owner)
		frame(driver, module, 0, ofThread)
		frame(module, 0, 1, ofThread)
		r.threads.list = []thread{{at: base, id: 1, native: tid}}
		r.Begin(&managed.Sample{InnerTID: tid, Regs: &frames.Regs{Arch: frames.X86_64}, Mem: m, At: 1})
		if r.merge.chain.broken != (owner == ofThread) {
			t.Fatalf("owner %d: broken %t", owner, r.merge.chain.broken)
		}
		want := []run{{newest, 0, 2}, {before, 2, 5}}
		if !r.merge.chain.broken && (!slices.Equal(r.merge.chain.runs, want) || r.merge.chain.frames[2].at != outer ||
			r.merge.chain.frames[4].at != module) {
			t.Errorf("runs %+v of %x, want %+v", r.merge.chain.runs, r.merge.chain.frames, want)
		}
	}
}

func TestGeneratorThatPassesThrowOnHasNoLoopOfItsOwnIn310(t *testing.T) {
	const outer, driver, loop, sp, cfa, ret, slot = 0x5000, 0x6000, 0x1000, 0x7f00, 0x8000, 0x1010, 64
	for name, c := range map[string]struct {
		gen      uint64
		known    int
		wantRuns int
	}{
		"a generator's frame":         {0x7000, enoughFrames, 2},
		"a function's frame":          {0, enoughFrames, 0},
		"the slot is not yet certain": {0x7000, enoughFrames - 1, 0},
	} {
		n := 0
		r := newParts(&interpreter{layout: layouts[10], evalLoop: []managed.Span{{Start: loop, End: loop + 64}}})
		r.view.Sample = &managed.Sample{Regs: &frames.Regs{Arch: frames.X86_64}, Mem: countedMemory{&n, map[uint64]uint64{
			outer + uint64(r.python.frameInstr) - 8: c.gen, cfa - 8: ret, cfa - slot: driver,
		}}}
		r.merge.chain.state, r.merge.chain.runs = 1, []run{{record: outer}, {record: driver}}
		r.merge.evalFrames = []evalFrame{{sp - 0x100, sp}} // inner's
		r.merge.frameSlots = frameSlots{ret: {offsets: []uint64{slot}, frames: c.known}}
		_, replaces := r.ManagedFrames(&frames.Frame{PC: loop, SP: sp}, cfa, nil)
		if r.merge.nextRun != c.wantRuns || replaces != (c.wantRuns > 0) || r.merge.chain.broken == replaces {
			t.Errorf("%s: run %d, broken %t; want run %d", name, r.merge.nextRun, r.merge.chain.broken, c.wantRuns)
		}
	}
}
