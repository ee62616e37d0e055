// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"
	"os"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
	"prywalk/ptrace"
)

const roomForRegions = 16

// The example of taskstack.go.
func TestTheStackThatAThreadHasLeftIsCopiedAsTheExampleSays(t *testing.T) {
	const (
		g0, m, curg, savedSP, stackHi = 0x1000, 0x1800, 0x2380, 0x5be30, 0x5c000
		tls, g0Stack                  = 0x3000, 0x60000
		lo, hi, worker, sp            = 0, 8, 48, 56
		scheduler, signal, current    = 8, 80, 192
	)
	mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	base := uint64(reflect.ValueOf(mem).Pointer())
	set := func(at, to uint64) { binary.LittleEndian.PutUint64(mem[at:], base+to) }
	set(tls-8, g0)
	set(g0+lo, g0Stack)
	set(g0+hi, g0Stack+0x8000)
	set(g0+worker, m)
	set(m+scheduler, g0)
	set(m+current, curg)
	set(curg+lo, stackHi-0x8000)
	set(curg+hi, stackHi)
	set(curg+sp, savedSP)
	e := &taskStacks{
		layout: managed.TaskOffsets{
			TLS: -8, StackLo: lo, StackHi: hi, Worker: worker, SavedSP: sp, SchedulerTask: scheduler, SignalTask: signal,
			CurrentTask: current,
		},
		slot: make([]byte, 8), g: make([]byte, 64), m: make([]byte, 200), curg: make([]byte, 64), g0: make([]byte, 64),
		stack: make([]byte, stackCopy), outer: make([]byte, schedulerCopy),
	}
	regs := &frames.Regs{Arch: frames.X86_64, TLS: base + tls}
	regs.Set(frames.X86_64.SP(), base+g0Stack+0x7000)
	rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
	n := e.Regions(regs, &rd, out)
	var got []uint64
	for _, r := range out[:n] {
		got = append(got, r.Addr-base)
	}
	if want := []uint64{tls - 8, g0, m, curg, savedSP}; !slices.Equal(got, want) {
		t.Fatalf("copies at %#x, want %#x", got, want)
	}
	if size := len(out[n-1].Bytes); size != 0x1d0 {
		t.Errorf("%#x bytes of the stack, want 0x1d0", size)
	}
	if allocs := testing.AllocsPerRun(10, func() {
		rd.AllowReads(ptrace.MaxReads)
		e.Regions(regs, &rd, out)
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
