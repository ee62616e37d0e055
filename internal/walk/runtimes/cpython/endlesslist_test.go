// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"testing"

	"prywalk/internal/host/procmem"
)

// A thread that is none of Python's asks for the list at each walk.
func TestEndlessListOfThreadsIsNotReadAllTheTime(t *testing.T) {
	const runtime, interp, state = 0x800, 0x1000, 0x2000
	img := &image{bytes: make([]byte, 0x3000)}
	put := func(addr, v uint64) { binary.LittleEndian.PutUint64(img.bytes[addr:], v) }
	in := &interpreter{layout: layouts[12], host: img, at: runtime}
	put(runtime+uint64(in.runtimeInterps), interp)
	put(interp+uint64(in.interpThreads), state)
	put(state+uint64(in.threadNext), state)
	put(state+uint64(in.threadInterp), interp)
	r := newParts(in)
	asked := procmem.Now()
	r.threads.anchor(999, 0)
	if pause := r.threads.next - asked; len(r.threads.list) != maxThreads || pause < maxThreads*pauseForThread {
		t.Errorf("%d threads, the next reading is due after %d ns", len(r.threads.list), pause)
	}
}
