// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"prywalk/internal/managed"
)

// Goroutine is what a process's memory says of a goroutine (runtime2.go, g).
type Goroutine struct {
	Addr             uint64 // of its g
	ID               uint64
	Status           uint32 // without the bit of the garbage collector
	StackLo, StackHi uint64
	SP, PC           uint64 // where it was left; valid while it waits
	WaitReason       uint8
	WaitSince        uint64 // CLOCK_MONOTONIC: the garbage collection before the first that found it waiting; 0: none
	Start            uint64 // its first function's address
}

// States of a goroutine (runtime2.go).
const (
	goroutineIdle     = 0
	goroutineWaiting  = 4
	goroutineDead     = 6
	goroutineLast     = 15
	goroutineScanning = 0x1000 // the garbage collector looks at its stack
)

// Bounds of what is read.
const (
	maxGoroutines   = 1 << 18
	goroutineBytes  = 416 // of each g
	goroutineTries  = 3   // while others come and go
	waitReasonBytes = 64  // of the text of a reason; there are fewer reasons than that, too
)

var (
	// errNoGoroutines: neither a symbol nor the code says where the list of goroutines is.
	errNoGoroutines = errors.New("the list of goroutines was not found in this stripped program")
	// errGoroutines: what was read cannot be goroutines, or changed all the time.
	errGoroutines = errors.New("the layout of goroutines is not known for this Go release")
)

// layoutG is where the fields of a g are that the instructions of systemstack do not show.
type layoutG struct{ status, start int64 }

// Offsets from atomicstatus, the same since Go 1.13: stackLock, goid, schedlink, waitsince, waitreason.
const (
	afterStatusGoid   = 8
	afterStatusSince  = 24
	afterStatusReason = 32
)

// Goroutines reads the list of all goroutines of the process, the dead ones left out. The process runs on meanwhile:
// each was so at its own moment. The layout is believed only if it fits every one of them.
func (r *Runtime) Goroutines() ([]Goroutine, error) {
	err := errNoGoroutines
	for range goroutineTries {
		var list []uint64
		if list, err = r.allgs(); err != nil {
			return nil, err
		}
		var out []Goroutine
		if out, err = r.readAll(list); err == nil {
			return out, nil
		}
	}
	return nil, err
}

// allgs reads the addresses of all g, in the order in which they were made.
func (r *Runtime) allgs() ([]uint64, error) {
	first, n, err := r.allgsSlice()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 8*n)
	if r.host.Read(first, b) != len(b) {
		return nil, errGoroutines
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return out, nil
}

// allgsSlice gives the array of runtime.allgs and its length. The variable is found by its symbol, and in a stripped
// program by the code of runtime.allgadd: it is the one variable named there that is a slice of g, the first of which
// runs runtime.main.
func (r *Runtime) allgsSlice() (first, n uint64, err error) {
	if at, _, ok := r.host.Symbol(r.module, "runtime.allgs"); ok {
		return r.sliceAt(at)
	}
	for _, at := range r.table.mentioned("runtime.allgadd") {
		first, n, err = r.sliceAt(at + r.bias)
		if err == nil && r.startsWithMain(first) {
			return first, n, nil
		}
	}
	return 0, 0, errNoGoroutines
}

// sliceAt reads the header of a slice of pointers.
func (r *Runtime) sliceAt(at uint64) (first, n uint64, err error) {
	var slice [24]byte
	if r.host.Read(at, slice[:]) != len(slice) {
		return 0, 0, errGoroutines
	}
	first, n = binary.LittleEndian.Uint64(slice[:]), binary.LittleEndian.Uint64(slice[8:])
	room := binary.LittleEndian.Uint64(slice[16:])
	if n == 0 || n > maxGoroutines || n > room || first == 0 || first%8 != 0 {
		return 0, 0, fmt.Errorf("%d goroutines: %w", n, errGoroutines)
	}
	return first, n, nil
}

// startsWithMain reports whether the first of an array of pointers leads to the g of the goroutine that runs
// runtime.main.
func (r *Runtime) startsWithMain(array uint64) bool {
	var word [8]byte
	var g [goroutineBytes]byte
	if r.host.Read(array, word[:]) != len(word) || r.host.Read(binary.LittleEndian.Uint64(word[:]), g[:]) != len(g) {
		return false
	}
	_, ok := r.layoutOf(g[:])
	return ok
}

// readAll reads the g of a list and checks them.
func (r *Runtime) readAll(list []uint64) ([]Goroutine, error) {
	var b [goroutineBytes]byte
	if r.host.Read(list[0], b[:]) != len(b) {
		return nil, errGoroutines
	}
	l, ok := r.layoutOf(b[:])
	if !ok {
		return nil, errGoroutines
	}
	known := make(map[uint64]bool, len(list))
	var out []Goroutine
	for _, at := range list {
		if r.host.Read(at, b[:]) != len(b) {
			return nil, errGoroutines
		}
		g := r.goroutine(at, b[:], l)
		if g.Status == goroutineIdle || g.Status == goroutineDead {
			continue
		}
		waits := g.Status == goroutineWaiting
		if g.Status > goroutineLast || g.ID == 0 || g.StackLo >= g.StackHi || known[g.ID] ||
			waits && (g.SP < g.StackLo || g.SP > g.StackHi) || g.Start != 0 && !r.starts(g.Start) {
			return nil, errGoroutines
		}
		known[g.ID] = true
		out = append(out, g)
	}
	return out, nil
}

// goroutine decodes a g.
func (r *Runtime) goroutine(at uint64, b []byte, l layoutG) Goroutine {
	w := func(off int64) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	c := &r.chase
	return Goroutine{Addr: at, ID: w(l.status + afterStatusGoid), Status: uint32(w(l.status)) &^ goroutineScanning,
		StackLo: w(c.GStackLo), StackHi: w(c.GStackHi), SP: w(c.SchedSP), PC: w(c.SchedPC),
		WaitReason: b[l.status+afterStatusReason], WaitSince: w(l.status + afterStatusSince), Start: w(l.start)}
}

// layoutOf finds the fields in the g of the first goroutine, which runs runtime.main: its number is 1, a state is
// before that, and its first function's address is somewhere behind. False unless each is found exactly once.
func (r *Runtime) layoutOf(b []byte) (l layoutG, ok bool) {
	entries := r.table.FuncByName("runtime.main")
	if len(entries) != 1 {
		return l, false
	}
	found := 0
	for off := r.chase.SchedBP + 8; off+afterStatusReason+8 <= 256; off += 8 {
		w := func(at int64) uint64 { return binary.LittleEndian.Uint64(b[off+at:]) }
		if status := uint32(w(0)) &^ goroutineScanning; w(afterStatusGoid) == 1 && status > goroutineIdle &&
			status <= goroutineLast && w(0)>>32 == 0 && (w(afterStatusReason)&0xff) < waitReasonBytes {
			l.status, found = off, found+1
		}
	}
	starts := 0
	for off := l.status + afterStatusReason + 8; off+8 <= int64(len(b)); off += 8 {
		if binary.LittleEndian.Uint64(b[off:]) == entries[0]+r.bias {
			l.start, starts = off, starts+1
		}
	}
	return l, found == 1 && starts == 1
}

// starts reports whether an address is the first of a function.
func (r *Runtime) starts(at uint64) bool {
	start, _, ok := r.table.FuncRange(at - r.bias)
	return ok && start == at-r.bias
}

// own reports whether the goroutine is the run-time system's: it began in one of its functions, but not in that which
// calls main (runtime/traceback.go, isSystemGoroutine).
func (r *Runtime) own(g *Goroutine) bool {
	f, ok := r.table.find(g.Start - r.bias)
	if !ok {
		return false
	}
	name := string(r.table.name(&f))
	return strings.HasPrefix(name, "runtime.") && name != "runtime.main" && name != "runtime.handleAsyncEvent"
}

// Parked implements [managed.Parker].
func (r *Runtime) Parked() (managed.Parked, error) {
	p := managed.Parked{Reasons: map[string]int{}}
	all, err := r.Goroutines()
	var reasons [waitReasonBytes]int
	for i := range all {
		g := &all[i]
		if g.Status != goroutineWaiting || r.own(g) {
			continue
		}
		p.Waiting++
		reasons[g.WaitReason%waitReasonBytes]++
		if g.WaitSince != 0 && (p.Since == 0 || g.WaitSince < p.Since) {
			p.Since = g.WaitSince
		}
	}
	strings := r.waitReasonStrings()
	for n, count := range reasons {
		if why := r.waitReason(strings, n); count > 0 && why != "" {
			p.Reasons[why] += count
		}
	}
	return p, err
}

// secondWaitReason is the text of the second reason to wait, behind the empty one of the first, since Go 1.11.
const secondWaitReason = "GC assist marking"

// namesWaitReasons are functions whose code names runtime.waitReasonStrings: the second is part of the first, unless
// the program was compiled without inlining.
var namesWaitReasons = []string{"runtime.goroutineheader", "runtime.waitReason.String"}

// waitReasonStrings gives the address of the run-time system's array of the reasons to wait, 0 if it is not found. In a
// stripped program code names it.
func (r *Runtime) waitReasonStrings() uint64 {
	if at, _, ok := r.host.Symbol(r.module, "runtime.waitReasonStrings"); ok {
		return at
	}
	for _, function := range namesWaitReasons {
		for _, at := range r.table.mentioned(function) {
			if r.waitReason(at+r.bias, 1) == secondWaitReason {
				return at + r.bias
			}
		}
	}
	return 0
}

// waitReason gives the words of the run-time system for a reason; empty if they cannot be read.
func (r *Runtime) waitReason(strings uint64, n int) string {
	var s [16]byte
	if strings == 0 || r.host.Read(strings+16*uint64(n), s[:]) != len(s) {
		return ""
	}
	text := make([]byte, min(binary.LittleEndian.Uint64(s[8:]), waitReasonBytes))
	if r.host.Read(binary.LittleEndian.Uint64(s[:]), text) != len(text) {
		return ""
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return string(text)
}
