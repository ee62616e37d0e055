// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"testing"
)

// The child of a fork has the tasks of the parent's event loop, and its running thread's ID, but not the thread.
func TestTasksThatAForkCopiedAreLeftOut(t *testing.T) {
	const (
		types, interp, state, task, loop, dict, keys, text, id = 0x100, 0x200, 0x300, 0x400, 0x500, 0x600, 0x700, 0x800, 0x900
		parents, own, node                                     = 0x7f64d6a01740, 0x7f64c57ff6c0, 0x48
	)
	const name = "_thread_id"
	for want, c := range map[string]struct {
		runs   bool // a thread runs the loop
		thread uint64
	}{"a loop of the process": {true, own}, "no loop that runs": {false, own}, "a copy": {true, parents}} {
		m := &image{bytes: make([]byte, 0x2000)}
		put := func(addr, v uint64) { binary.LittleEndian.PutUint64(m.bytes[addr:], v) }
		in := &interpreter{layout: layouts[11], host: m, at: 0x1000}
		in.dictType, in.longType, in.unicodeType = types+0x10, types+0x20, types+0x30
		taskType, loopType := uint64(types+0x40), uint64(0xa00)
		r := newParts(in)
		put(in.at+uint64(in.runtimeInterps), interp)
		put(interp+uint64(in.interpThreads), state)
		put(state+uint64(in.threadInterp), interp)
		put(state+uint64(in.threadID), own)
		put(interp+0x80, task+node)
		put(task+node, interp+0x80)
		put(task+objectType, taskType)
		put(task+futureLoop, loop)
		put(loop+objectType, loopType)
		put(loopType+typeDict, 0x20)
		put(loop+0x20, dict)
		put(dict+objectType, in.dictType)
		put(dict+dictKeys, keys)
		m.bytes[keys+keysLog2Index], m.bytes[keys+keysKind] = 3, 1
		put(keys+keysEntries, 1)
		put(keys+keysIndices+8, text)
		put(keys+keysIndices+16, id)
		put(text+objectType, in.unicodeType)
		put(text+textLength, uint64(len(name)))
		copy(m.bytes[text+in.textASCII:], name)
		if c.runs {
			put(id+objectType, in.longType)
		}
		put(id+longDigits, c.thread&(1<<longDigitBits-1)|c.thread>>longDigitBits<<32)
		tr := &taskReader{r: in, o: in.objects(), threads: r.threads, taskType: taskType}
		tr.offsets.Task.Node, tr.offsets.Interpreter.Head = node, 0x80
		if !tr.threads.readThreads() {
			t.Fatal("the thread is not read")
		}
		if got := tr.asyncioTasks(); (len(got) == 1) != (want != "a copy") || len(got) > 1 {
			t.Errorf("%s: %#x", want, got)
		}
	}
}
