// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// 3.12 publishes a new _PyCFrame before it fills in its frame and record.
func TestStaleCFrameOfAnEarlierCallIsIgnored(t *testing.T) {
	const (
		base   = 0x10000
		state  = base
		sp     = base + 0x400 // the call that has just begun
		cframe = sp + 0x80
		record = sp + 0xf0
		outerC = sp + 0x200
		outerR = outerC + 0x70
		frame1 = base + 0x800
		frame2 = base + 0x880
		code   = base + 0x900
		tid    = 7
	)
	for name, c := range map[string]struct {
		current, led uint64
	}{
		"left by a call from elsewhere":  {record, frame2},
		"left by a call from there, too": {record, frame1},
		"filled in":                      {frame2, frame1},
		"leads nowhere":                  {record, 8},
		"not told what was before it":    {record, frame2},
	} {
		t.Run(name, func(t *testing.T) {
			m := &image{at: base, bytes: make([]byte, 0x1000)}
			r := newParts(&interpreter{layout: layouts[12], host: m})
			set := func(at uint64, off int64, v uint64) { binary.LittleEndian.PutUint64(m.bytes[at-base+uint64(off):], v) }
			entry := func(at, prev uint64, owner byte) {
				set(at, r.python.framePrev, prev)
				set(at, r.python.frameCode, code)
				m.bytes[at-base+uint64(r.python.frameOwner)] = owner
			}
			set(state, r.python.threadID, 1)
			set(state, r.python.threadNative, tid)
			set(state, r.python.threadFrame, cframe)
			set(cframe, r.python.cframeCurrent, c.current)
			set(cframe, r.python.cframePrev, outerC)
			entry(record, c.led, ownedByCStack)
			set(outerC, r.python.cframeCurrent, frame1)
			set(outerC, r.python.cframePrev, state+8)
			entry(frame1, outerR, ownedByThread)
			entry(frame2, record, ownedByThread)
			entry(outerR, 0, ownedByCStack)
			r.threads.list = []thread{{at: state, id: 1, native: tid}}
			regs := &frames.Regs{Arch: frames.X86_64}
			if name == "not told what was before it" { // a register still has it
				set(cframe, r.python.cframePrev, 0x7000)
				regs.Set(3, state)
				regs.Set(1, outerC)
				regs.Set(2, outerC+8)
			}
			r.Begin(&managed.Sample{InnerTID: tid, Regs: regs, Mem: m, At: 1})
			last := r.merge.chain.runs[len(r.merge.chain.runs)-1]
			if r.merge.chain.broken || r.merge.chain.incomplete || last.record != outerR ||
				r.merge.chain.frames[last.to-1].at != frame1 {
				t.Errorf("runs %x of %x", r.merge.chain.runs, r.merge.chain.frames)
			}
			if inner := r.merge.chain.frames[0].at; (c.current == frame2) != (inner == frame2) || len(r.merge.chain.frames) > 2 {
				t.Errorf("chain %x", r.merge.chain.frames)
			}
		})
	}
}
