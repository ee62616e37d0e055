// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Goroutine is a g in a process's memory (runtime2.go).
type Goroutine struct {
	Addr             uint64
	ID               uint64
	Status           uint32 // without the scan bit
	StackLo, StackHi uint64
	SP, PC, BP, LR   uint64 // valid unless it runs
	WaitReason       uint8
	WaitSince        uint64 // CLOCK_MONOTONIC at the start of the collection before the first that found it waiting, or 0
	Start            uint64 // first function
	GoPC             uint64 // return address of the creating call
	Parent           uint64 // since Go 1.21; undefined before
	Labels           uint64 // address; 0 means none
}

// Goroutine states (runtime2.go).
const (
	goroutineIdle      = 0
	goroutineRunnable  = 1
	goroutineRunning   = 2
	goroutineSyscall   = 3
	goroutineWaiting   = 4
	goroutineDead      = 6
	goroutineCopyStack = 8
	goroutinePreempted = 9
	goroutineLeaked    = 10 // Go 1.26
	goroutineDeadExtra = 11 // of a thread of C (Go 1.26)
	goroutineLast      = 15
	goroutineScanning  = 0x1000
)

// statusWords are gStatusStrings of runtime/traceback.go.
var statusWords = map[uint32]string{goroutineRunnable: "runnable", goroutineRunning: "running",
	goroutineSyscall: "syscall", goroutineWaiting: "waiting", goroutineCopyStack: "copystack",
	goroutinePreempted: "preempted", goroutineLeaked: "leaked"}

func (g *Goroutine) ended() bool {
	return g.Status == goroutineIdle || g.Status == goroutineDead || g.Status == goroutineDeadExtra
}

func (g *Goroutine) onThread() bool {
	switch g.Status {
	case goroutineRunnable, goroutineWaiting, goroutinePreempted, goroutineLeaked:
		return g.SP < g.StackLo || g.SP > g.StackHi || g.PC == 0
	}
	return true
}

// inC reports whether g is of a thread of C that has left Go code (runtime/proc.go, oneNewExtraM).
func (g *Goroutine) inC() bool { return g.Start == 0 && g.Status == goroutineSyscall }

func (g *Goroutine) fill(t *managed.TaskRecord, arch frames.Arch) {
	t.ID, t.Since, t.CreatedBy, t.StackLo, t.StackHi = g.ID, g.WaitSince, g.GoPC, g.StackLo, g.StackHi
	if t.Status = statusWords[g.Status]; t.Status == "" {
		t.Status = "unknown"
	}
	t.Words = [6]uint64{g.ID, uint64(g.Status), g.StackLo, g.StackHi, g.SP, g.PC}
	t.Regs = frames.Regs{Arch: arch, PC: g.PC}
	t.Regs.Set(arch.SP(), g.SP)
	t.Regs.Set(arch.FP(), g.BP)
	if g.LR != 0 {
		t.Regs.Set(frames.ARM64LR, g.LR)
	}
	t.OnThread = g.onThread()
}

// # The layout of a g
//
// Fields are found in the g of a known function: its number after a state, and the function's address. That is
// runtime.main, number 1, first of the list; in a library, where it has returned, runtime.forcegchelper, which never
// returns.

type layoutG struct{ status, start int64 }

// Offsets from atomicstatus.
const (
	afterStatusGoid   = 8
	afterStatusSince  = 24
	afterStatusReason = 32
)

// Offsets from startpc; parentGoid is before gopc since Go 1.21.
const (
	beforeStartParent = 24
	beforeStartGoPC   = 16
	afterStartLabels  = 48
)

const (
	maxFirst = 64
	// See goidsTaken.
	earlyGoids = 1 << 10
)

func (a *allgs) layoutIn(array, n uint64) (l layoutG, ok bool) {
	var b [goroutineBytes]byte
	for i := range min(n, maxFirst) {
		g, ok := a.program.word(array + 8*i)
		if !ok || a.program.host.Read(g, b[:]) != len(b) {
			return l, false
		}
		if i == 0 {
			if l, ok = a.layoutOf(b[:], "runtime.main", 1); ok {
				return l, true
			}
		}
		if l, ok = a.layoutOf(b[:], "runtime.forcegchelper", earlyGoids); ok {
			return l, true
		}
	}
	return l, false
}

// layoutOf finds the offsets of fields in a function's g; it returns false if one is not unique.
func (a *allgs) layoutOf(b []byte, function string, lastID uint64) (l layoutG, ok bool) {
	entry, ok := a.startFuncs.named(function)
	if !ok {
		return l, false
	}
	found := 0
	for off := a.offsets.SchedBP + 8; off+afterStatusReason+8 <= 256; off += 8 {
		w := func(at int64) uint64 { return binary.LittleEndian.Uint64(b[off+at:]) }
		id := w(afterStatusGoid)
		if status := uint32(w(0)) &^ goroutineScanning; id > 0 && id <= lastID && status > goroutineIdle &&
			status <= goroutineLast && w(0)>>32 == 0 && (w(afterStatusReason)&0xff) < maxWaitReasons {
			l.status, found = off, found+1
		}
	}
	starts := 0
	for off := l.status + afterStatusReason + 8; off+8 <= int64(len(b)); off += 8 {
		if binary.LittleEndian.Uint64(b[off:]) == entry {
			l.start, starts = off, starts+1
		}
	}
	return l, found == 1 && starts == 1
}

// findFields searches the layout of g, in ever fewer of its calls.
func (a *allgs) findFields() bool {
	if a.tries++; a.tries&(a.tries-1) != 0 { // calls 1, 2, 4, 8 …
		return false
	}
	first, n, err := a.slice()
	return err == nil && a.findFieldsIn(first, n)
}

func (a *allgs) findFieldsIn(array, n uint64) bool {
	l, ok := a.layoutIn(array, n)
	if ok {
		a.fields = l
		a.labelsAt.Store(l.start + afterStartLabels)
	}
	return ok
}
