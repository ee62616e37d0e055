// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

func hostileRuntime(t *testing.T, memory []byte) *Runtime {
	t.Helper()
	im := Image{Arch: frames.X86_64, Pclntab: goroutineTable(false, true), PclntabAddr: 0x5000, TextStart: 0x1000,
		Read: func(addr uint64, b []byte) int {
			if off := addr - 0x1000; off < uint64(len(memory)) {
				return copy(b, memory[off:])
			}
			return 0
		}}
	tab, err := New(im)
	if err != nil {
		t.Fatal(err)
	}
	return newRuntime(program{table: tab, host: &memoryHost{memory: memory, symbol: true}},
		GOffsets{GM: 0x30, GStackHi: 8, SchedSP: 0x38, SchedPC: 0x40, SchedBP: 0x68})
}

func FuzzFollowedGoroutines(f *testing.F) {
	f.Add(hostileMemory())
	f.Add(waitingMemory())
	f.Fuzz(func(t *testing.T, memory []byte) {
		r := hostileRuntime(t, memory)
		n, err := r.Places()
		if err != nil && n != 0 || n > maxGoroutines {
			t.Fatalf("%d places, %v", n, err)
		}
		changed := r.Poll(0, n, nil)
		if len(changed) != n {
			t.Errorf("%d of %d places are new", len(changed), n)
		}
		for _, place := range changed {
			var task managed.TaskRecord
			stack, ok := r.Task(place, &task)
			if len(stack) > maxFollowedStack || ok && !task.OnThread && task.Object == 0 {
				t.Errorf("%d bytes of stack, task %+v", len(stack), task)
			}
			if ok && !task.OnThread {
				task.Wait = waitReasonIO
				if fd, ok := r.Polled(&task, stack); ok && (fd < 0 || fd >= maxFD) {
					t.Errorf("descriptor %d", fd)
				}
				task.Wait = ""
				if waits := r.WaitsAt(&task, stack); len(waits) > maxSelect {
					t.Errorf("it waits for %d things", len(waits))
				}
				r.LabelsAt(task.LabelsAt)
			}
		}
		if again := r.Poll(0, n, nil); len(again) > n {
			t.Errorf("%d of %d have changed", len(again), n)
		}
	})
}

// A goroutine at 0x1380 waits for a channel.
func waitingMemory() []byte {
	b := append(hostileMemory(), make([]byte, 0x800)...)
	put := func(at, w uint64) { binary.LittleEndian.PutUint64(b[at-0x1000:], w) }
	g := uint64(0x1300)
	for at, w := range map[uint64]uint64{0: 0x1600, 8: 0x1700, 0x38: 0x1680, 0x40: 0x1000} {
		put(g+at, w)
	}
	put(g+0xf8+16, 0x1500)                             // g.waiting
	put(0x1500, g)                                     // sudog.g
	put(0x1500+uint64(sudogLayouts[2].channel), 0x1b0) // no channel there
	return b
}

// The garbage collector's words of g do not count.
func TestPollReportsGoroutinesThatRanSinceTheirReading(t *testing.T) {
	memory := waitingMemory()
	r := hostileRuntime(t, memory)
	n, err := r.Places()
	if n != 1 || err != nil {
		t.Fatalf("%d places, %v", n, err)
	}
	var task managed.TaskRecord
	read := func() {
		t.Helper()
		if stack, ok := r.Task(0, &task); !ok || task.OnThread || len(stack) != 0x80 {
			t.Fatalf("%d bytes of stack, %v, %+v", len(stack), ok, task)
		}
	}
	changed := func() bool { return len(r.Poll(0, 1, nil)) == 1 }
	if !changed() {
		t.Error("not changed before it was read")
	}
	read()
	if changed() {
		t.Error("changed though it is the same")
	}
	status := int(r.allgs.fields.status)
	for what, c := range map[string]struct {
		at   int // in its g
		want bool
	}{
		"sched.sp": {0x38, true}, "goid": {status + 8, true}, "waitreason": {status + 32, true},
		"trackingSeq": {status + 45, true}, "waiting": {int(r.allgs.fields.start) + 16, true},
		"labels":    {int(r.allgs.fields.start) + 48, true},
		"waitsince": {status + 24, false}, "gcscandone": {status + 38, false}, "schedlink": {status + 16, false},
	} {
		b := &memory[0x300+c.at]
		*b ^= 8
		if changed() != c.want {
			t.Errorf("%s: changed is %v", what, !c.want)
		}
		*b ^= 8
	}
	binary.LittleEndian.PutUint32(memory[0x300+status:], goroutineWaiting|goroutineScanning)
	if changed() {
		t.Error("changed as the garbage collector looks at it")
	}
}

func FuzzTakenLocks(f *testing.F) {
	f.Add([]byte{0x48, 0x8d, 0x0d, 0, 1, 0, 0, 0x31, 0xc0, 0xba, 1, 0, 0, 0, 0xf0, 0x0f, 0xb1, 0x11, 0xe8, 0, 0, 0, 0},
		uint16(23))
	f.Add([]byte{0xe8, 0, 0, 0, 0, 0x75, 5, 0x48, 0x89, 0x44, 0x24, 8, 0xe8, 0, 0, 0, 0}, uint16(17))
	f.Fuzz(func(t *testing.T, code []byte, pc uint16) {
		if len(code) > 1<<12 {
			return
		}
		names := []string{"sync.(*Mutex).Lock", "sync.(*Mutex).Unlock", "sync.(*RWMutex).RLock", "main.f"}
		got := analyseLocksX86(code, 0x1000, 0x1000+uint64(pc), func(at uint64) string { return names[at%4] }, nil)
		if len(got.path.held) > len(code) {
			t.Errorf("%d locks in %d bytes", len(got.path.held), len(code))
		}
		r := hostileRuntime(t, hostileMemory())
		for _, h := range got.path.held {
			got.value(lockFrame{&r.program, 0, 0x1200, 0x4000, nil}, h.lock, 0)
		}
	})
}

// A path that returns before the call has no effect.
func TestLockIsHeldFromAcquisitionToRelease(t *testing.T) {
	take := []byte{0x48, 0x8d, 0x0d, 0, 1, 0, 0, // lea rcx, [rip+0x100]
		0x31, 0xc0, 0x90, 0xba, 1, 0, 0, 0, // xor eax, eax; nop; mov edx, 1
		0xf0, 0x0f, 0xb1, 0x11} // lock cmpxchg [rcx], edx
	give := []byte{0xb8, 0xff, 0xff, 0xff, 0xff, 0xf0, 0x0f, 0xc1, 0x01} // mov eax, -1; lock xadd [rcx], eax
	call := []byte{0xe8, 0, 0, 0, 0}
	early := append([]byte{0x75, byte(len(give) + 1)}, append(give, 0xc3)...) // jne over: unlock; ret
	for name, c := range map[string]struct {
		code [][]byte
		held int
	}{
		"taken":                         {[][]byte{take, call}, 1},
		"let go of":                     {[][]byte{take, give, call}, 0},
		"let go of on a way that ended": {[][]byte{take, early, call}, 1},
		"not taken":                     {[][]byte{call}, 0},
		"an unlock of another":          {[][]byte{take, {0x48, 0x83, 0xc1, 8}, give, call}, 1},
		"after an unknown instruction":  {[][]byte{take, {0x06}, give, call}, 0},
		"let go of in a loop":           {[][]byte{take, {0xeb, 9}, give, {0x75, 0xf5}, call}, 0},
	} {
		var code []byte
		for _, part := range c.code {
			code = append(code, part...)
		}
		got := analyseLocksX86(code, 0x1000, 0x1000+uint64(len(code)), func(uint64) string { return "main.f" }, nil)
		if len(got.path.held) != c.held {
			t.Errorf("%s: %d locks are held", name, len(got.path.held))
			continue
		}
		at, ok := got.value(lockFrame{}, append(got.path.held, heldLockX86{})[0].lock, 0)
		if c.held == 1 && (!ok || at != 0x1107) {
			t.Errorf("%s: the lock is at %#x", name, at)
		}
	}
}

// The body of a for loop is reached by a backward jump only.
func TestALockIsHeldInALoop(t *testing.T) {
	take := []byte{0x48, 0x8d, 0x0d, 0, 1, 0, 0, // lea rcx, [rip+0x100]
		0x31, 0xc0, 0x90, 0xba, 1, 0, 0, 0, // xor eax, eax; nop; mov edx, 1
		0xf0, 0x0f, 0xb1, 0x11} // lock cmpxchg [rcx], edx
	code := slices.Concat(take, []byte{0xeb, 5, // jmp condition
		0xe8, 0, 0, 0, 0, // body: call
		0x75, 0xf9, 0xc3}) // condition: jne body; ret
	pc := 0x1000 + uint64(len(take)+7)
	got := analyseLocksX86(code, 0x1000, pc, func(uint64) string { return "main.f" }, nil)
	if len(got.path.held) != 1 {
		t.Fatalf("%d locks are held", len(got.path.held))
	}
	if at, ok := got.value(lockFrame{}, got.path.held[0].lock, 0); !ok || at != 0x1107 {
		t.Errorf("the lock is at %#x", at)
	}
}

// lock(items[i]); the pointer is on the stack, below which Go zeroes 16 bytes.
func TestALockWhosePointerWasLoadedByAnIndexIsFoundOnTheStack(t *testing.T) {
	code := []byte{0x4c, 0x8b, 0x04, 0xc8, // mov r8, [rax+rcx*8]
		0x4c, 0x89, 0x44, 0x24, 8, // mov [rsp+8], r8
		0x31, 0xc0, 0x90, 0xba, 1, 0, 0, 0, // xor eax, eax; nop; mov edx, 1
		0xf0, 0x41, 0x0f, 0xb1, 0x10, // lock cmpxchg [r8], edx
		0x44, 0x0f, 0x11, 0x7c, 0x24, 0xf8, // movups [rsp-8], xmm15
		0xe8, 0, 0, 0, 0}
	got := analyseLocksX86(code, 0x1000, 0x1000+uint64(len(code)), func(uint64) string { return "main.f" }, nil)
	if len(got.path.held) != 1 || got.path.slots[8] != got.path.held[0].lock {
		t.Errorf("held %+v, slots %+v", got.path.held, got.path.slots)
	}
}

// Channels can share a queue.
func TestSudogsOfAllChannelsAreBounded(t *testing.T) {
	const sudogs = 0x2000
	memory := make([]byte, 0x200000)
	put := func(at, w uint64) { binary.LittleEndian.PutUint64(memory[at-0x1000:], w) }
	for i := range uint64(maxQueue - 1) { // overlapping: only the link is read
		put(sudogs+16*i+sudogNext, sudogs+16*(i+1))
	}
	last := uint64(sudogs + 16*(maxQueue-2))
	ws := &waitQueues{allgs: &allgs{program: &program{host: &memoryHost{memory: memory}}}, queues: map[uint64]queue{}}
	whole := 0
	for i := range uint64(maxSudogs/maxQueue + 8) {
		at := uint64(0x180000) + hchanBytes*i
		put(at+hchanRecv, sudogs)
		put(at+hchanRecv+8, last)
		if ws.channel(at, sudogs); len(ws.queues[at].sudogs) == maxQueue-1 {
			whole++
		}
	}
	if whole == 0 || ws.sudogs > maxSudogs {
		t.Errorf("%d whole queues, %d sudogs; want some, and at most %d", whole, ws.sudogs, maxSudogs)
	}
}
