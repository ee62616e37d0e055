// SPDX-License-Identifier: Apache-2.0

package taskstack

import (
	"encoding/binary"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

const roomForRegions = 16

func TestThreadThatRunsTheSameGoroutineIsReadInOneCall(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("needs x86-64: here g is in a register")
	}
	mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	base := uint64(reflect.ValueOf(mem).Pointer())
	set := func(at, to uint64) { binary.LittleEndian.PutUint64(mem[at:], base+to) }
	const slot, one, two, m, other = 8, 256, 512, 1024, 2048
	e := &stacks{layout: managed.TaskOffsets{Worker: 48, SchedulerTask: 0, SignalTask: 80, CurrentTask: 192},
		slot: make([]byte, 8), g: make([]byte, 64), m: make([]byte, 200), curg: make([]byte, 64),
		stack: make([]byte, stackCopy)}
	run := func(g, onM uint64) {
		set(slot, g)
		set(g+48, onM)
		set(onM+192, g)
	}
	observe := func(what string, g, onM uint64, calls int64) {
		t.Helper()
		rd, out := ptrace.NewReader(os.Getpid(), nil), make([]frames.Region, roomForRegions)
		before := procmem.Calls()
		n := e.Regions(&frames.Regs{Arch: frames.X86_64, TLS: base + slot}, &rd, out)
		if got := procmem.Calls() - before; got > calls {
			t.Errorf("%s: %d calls, more than %d", what, got, calls)
		}
		if n != 3 || out[0].Addr != base+slot || out[1].Addr != base+g || out[2].Addr != base+onM ||
			word(out[0].Bytes, 0) != base+g {
			t.Errorf("%s: %d regions: %#x", what, n, out[:n])
		}
	}
	run(one, m)
	observe("first", one, m, 3)
	observe("same", one, m, 1)
	run(two, m)
	observe("other goroutine", two, m, 4)
	observe("the same again", two, m, 1)
	run(two, other)
	observe("other thread at this place", two, other, 4)
}

func TestTheStackOfAnotherGoroutineEndsWhereItsOwnDoes(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("needs x86-64: here g is in a register, and nothing is read before the stack")
	}
	mem, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	base := uint64(reflect.ValueOf(mem).Pointer())
	set := func(at, to uint64) { binary.LittleEndian.PutUint64(mem[at:], base+to) }
	const slot, one, two, zero, m = 8, 256, 512, 768, 1024
	e := &stacks{
		layout: managed.TaskOffsets{
			StackLo: 0, StackHi: 8, Worker: 48, SchedulerTask: 8, SignalTask: 80, CurrentTask: 192,
		},
		slot: make([]byte, 8), g: make([]byte, 64), m: make([]byte, 200), curg: make([]byte, 64), g0: make([]byte, 64),
		stack: make([]byte, stackCopy), outer: make([]byte, schedulerCopy)}
	for g, lo := range map[uint64]uint64{one: 2048, two: 4096, zero: 6144} {
		set(g, lo)
		set(g+8, lo+1024)
		set(g+48, m)
	}
	set(m+8, zero)
	for _, c := range []struct {
		what        string
		g, curg, sp uint64
		end         uint64 // 0: not known
		reads       int    // at most
	}{
		{"met first", one, one, 2100, 0, 0},
		{"the same", one, one, 2100, 2048 + 1024, 0},
		{"another", two, two, 4200, 4096 + 1024, 1},
		{"that one again", two, two, 4300, 4096 + 1024, 0},
		{"another, and not on its stack", one, one, 4300, 0, 1},
		{"the scheduler's", zero, one, 6200, 0, 0},
	} {
		set(slot, c.g)
		set(m+192, c.curg)
		regs := &frames.Regs{Arch: frames.X86_64, TLS: base + slot}
		regs.Set(frames.X86_64.SP(), base+c.sp)
		rd := ptrace.NewReader(os.Getpid(), nil)
		places := e.Prefetch(regs)
		if len(places) > 0 {
			if rd.ReadAll(places) == 0 {
				t.Fatal("nothing was read")
			}
			left, want := rd.ReadsLeft(), c.end
			if want != 0 {
				want += base
			}
			if got := e.StackEnd(regs, &rd); got != want || left-rd.ReadsLeft() > c.reads {
				t.Errorf("%s: it ends at %#x, want %#x; %d reads", c.what, got, want, left-rd.ReadsLeft())
			}
		}
		e.Regions(regs, &rd, make([]frames.Region, roomForRegions))
	}
}

// The example of doc.go.
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
	e := &stacks{
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
