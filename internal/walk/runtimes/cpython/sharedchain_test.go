// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// limited is unreadable after most reads.
type limited struct {
	image
	reads, most int
}

func (l *limited) Read(addr uint64, b []byte) int {
	if l.reads++; l.reads > l.most {
		return 0
	}
	return l.image.Read(addr, b)
}

// A list of tasks leads to itself, and their coroutine awaits itself: each task has maxAwaits frames.
func TestTasksThatShareALongChainAreBounded(t *testing.T) {
	const (
		types, task, co, code, instr, node = 0x100, 0x400, 0x800, 0xc00, 0xe00, 0x10
		codeType, taskType, coType         = types, types + 8, types + 16
	)
	for name, chained := range map[string]bool{"chain": true, "awaited by a large set": false} {
		l := &limited{image: image{bytes: make([]byte, 0x1000)}, most: 100 * maxListWork}
		put := func(addr, v uint64) { binary.LittleEndian.PutUint64(l.bytes[addr:], v) }
		in := &interpreter{layout: layouts[12], host: l, at: 0xf00}
		in.codeType, in.coroutineTypes[0] = codeType, coType
		r := newParts(in)
		r.threads.list = []thread{{at: 0x40}}
		tr := &taskReader{r: in, o: r.python.objects(), threads: r.threads, codes: &r.codes, watch: still{},
			taskType: taskType}
		tr.coroutine, tr.offsets.Task.Node = 0x60, node
		put(0x40, task+node)      // head of the list
		put(task, 1)              // references
		put(task+node, task+node) // next
		put(task+objectType, taskType)
		put(task+0x60, co)
		put(co+objectType, coType)
		frame := uint64(co + genIFrame)
		l.bytes[frame-genStateBeforeFrame] = 0xff // suspended
		l.bytes[int64(frame)+in.frameOwner] = ownedByGenerator
		binary.LittleEndian.PutUint64(l.bytes[int64(frame)+in.frameCode:], code)
		binary.LittleEndian.PutUint64(l.bytes[int64(frame)+in.frameInstr:], instr)
		l.bytes[instr+3] = 2             // resumes an await
		l.bytes[frame+frameStackTop] = 2 // values
		put(code, 1)
		put(code+objectType, codeType)
		put(uint64(int64(code)+in.codeVersion)&^7, 1<<32|1)
		if chained {
			put(frame+frameLocalsPlus+8, co)
		} else {
			tr.offsets.Task.AwaitedBy, tr.offsets.Task.AwaitedBySet = 0x70, 0x78
			put(task+0x70, 0xa00)
			put(task+0x78, 1)
			put(0xa00+setMask, maxSet-1)
		}
		r.codes.view.Begin(&managed.Sample{Mem: &frames.Snapshot{}, Live: managed.TaskMemory{Reader: in.host}})
		list := tr.list()
		if l.reads > l.most {
			t.Errorf("%s: more than %d reads", name, l.most)
		}
		if got := len(list.Tasks) + list.Changed; got == 0 || got > 64 || got+list.More != maxListed {
			t.Errorf("%s: %d tasks, %d changed, %d more", name, len(list.Tasks), list.Changed, list.More)
		}
	}
}
