// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// Ruby keeps native threads for the next threads (thread_pthread.c, thread_cache).
func TestTheNextThreadOfRubyOnANativeThreadIsFound(t *testing.T) {
	const at, pthread = 1 << 32, 0x7000
	const first, second, firstEC, secondEC, list = 1024, 4096 + 1024, 1200, 4096 + 1200, 128 + 304
	m := &image{at, slices.Concat(thread31(at), make([]byte, 4096))}
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(m.bytes[off:], v) }
	copy(m.bytes[second:], m.bytes[first:firstEC+ecCopied])
	put(second+40, at+secondEC)
	put(secondEC+48, at+second)
	put(first+80, pthread)
	put(second+80, pthread)
	rt, err := Detect(m)
	if err != nil || rt == nil {
		t.Fatalf("%v, %v", rt, err)
	}
	r := rt.(*Runtime)
	walk := func(thread uint64) {
		t.Helper()
		regs := frames.Regs{Arch: frames.X86_64, TLS: pthread}
		r.vm.threads.next = 0
		r.Begin(&managed.Sample{InnerTID: 7, Regs: &regs, Mem: m, At: 1, Live: m})
		if r.walk.thread != thread || len(r.walk.frames) != 1 {
			t.Errorf("thread %#x with %d frames, want %#x with one", r.walk.thread, len(r.walk.frames), thread)
		}
	}
	walk(at + first)
	clear(m.bytes[firstEC : firstEC+ecTag])
	put(list, at+second)
	walk(at + second)
}

// A thread that is none of Ruby's asks for the list at each walk.
func TestEndlessListOfThreadsIsNotReadAllTheTime(t *testing.T) {
	const at = 1 << 32
	m := &image{at, thread31(at)}
	rt, err := Detect(m)
	if err != nil || rt == nil {
		t.Fatalf("%v, %v", rt, err)
	}
	vm := &rt.(*Runtime).vm
	if len(vm.threads.list) != 1 {
		t.Fatalf("%d threads", len(vm.threads.list))
	}
	first := vm.threads.list[0].at
	binary.LittleEndian.PutUint64(m.bytes[first-at:], first) // next
	vm.threads.next = 0
	asked := procmem.Now()
	vm.anchor(999, 0)
	if pause := vm.threads.next - asked; len(vm.threads.list) != maxThreads || pause < maxThreads*pauseForThread {
		t.Errorf("%d threads, the next reading is due after %d ns", len(vm.threads.list), pause)
	}
}
