// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

const (
	maxGoroutines  = 1 << 18
	goroutineBytes = 416
	goroutineTries = 3
)

var (
	errNoGoroutines = errors.New("the list of goroutines was not found in this stripped program")
	errGoroutines   = errors.New("the layout of goroutines is not known for this Go release")
	errUnreadable   = errors.New("its memory cannot be read")
	errChanging     = errors.New("its goroutines changed at each reading")
	errTooMany      = fmt.Errorf("it has more goroutines than the %d that are read", maxGoroutines)
)

type allgs struct {
	program    *program
	offsets    GOffsets
	fields     layoutG
	list       uint64 // runtime.allgs, or 0
	startFuncs startFuncs
	reasons    waitReasons
	labelsAt   atomic.Int64
	tries      uint
}

// slice returns the array of runtime.allgs: without symbols the slice that runtime.allgadd refers to in which the
// layout of g is found.
func (a *allgs) slice() (first, n uint64, err error) {
	if a.offsets == (GOffsets{}) {
		return 0, 0, errGoroutines
	}
	if a.list != 0 {
		return a.sliceAt(a.list)
	}
	if at, _, ok := a.program.host.Symbol(a.program.module, "runtime.allgs"); ok {
		a.list = at
		return a.sliceAt(at)
	}
	for _, at := range a.program.table.referencedAddresses("runtime.allgadd") {
		first, n, err = a.sliceAt(at + a.program.bias)
		if (err == nil || errors.Is(err, errTooMany)) && a.findFieldsIn(first, n) {
			a.list = at + a.program.bias
			return first, n, err
		}
	}
	return a.sliceInBss()
}

const maxBss = 4 << 20

// sliceInBss searches the slice where names are removed, so that runtime.allgadd is not known.
func (a *allgs) sliceInBss() (first, n uint64, err error) {
	bss := a.program.table.bss
	if !a.program.table.h.foreign || bss.Size > maxBss {
		return 0, 0, errNoGoroutines
	}
	b := make([]byte, bss.Size&^7)
	b = b[:a.program.host.Read(bss.Addr+a.program.bias, b)&^7]
	for off := 0; off+24 <= len(b); off += 8 {
		first, n, room := word64(b, int64(off)), word64(b, int64(off+8)), word64(b, int64(off+16))
		if n == 0 || n > room || room > maxGoroutines || first < bss.Addr || first%8 != 0 || !a.findFieldsIn(first, n) {
			continue
		}
		a.list = bss.Addr + a.program.bias + uint64(off)
		return first, n, nil
	}
	return 0, 0, errNoGoroutines
}

// sliceAt returns the slice with errTooMany, too.
func (a *allgs) sliceAt(at uint64) (first, n uint64, err error) {
	var slice [24]byte
	if a.program.host.Read(at, slice[:]) != len(slice) {
		return 0, 0, errUnreadable
	}
	first, n = binary.LittleEndian.Uint64(slice[:]), binary.LittleEndian.Uint64(slice[8:])
	room := binary.LittleEndian.Uint64(slice[16:])
	switch {
	case n == 0, n > room, first == 0, first%8 != 0:
		return 0, 0, fmt.Errorf("%d goroutines: %w", n, errGoroutines)
	case n > maxGoroutines:
		return first, n, errTooMany
	}
	return first, n, nil
}

// readAll returns the live goroutines of an ascending list. The error is errUnreadable, or errChanging: one has
// impossible fields, or a number occurs twice.
func (a *allgs) readAll(list []uint64) (out []Goroutine, err error) {
	out = make([]Goroutine, 0, len(list))
	newGReader(a.program.host).each(list, func(i int, b []byte) {
		switch {
		case err != nil:
			return
		case b == nil:
			err = errUnreadable
			return
		}
		g, valid := a.check(list[i], b)
		for n := 0; n < goroutineTries && !valid; n++ {
			g, valid = a.read(list[i])
		}
		if !valid {
			err = errChanging
		} else if !g.ended() {
			out = append(out, g)
		}
	})
	slices.SortFunc(out, func(a, b Goroutine) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(out) && err == nil; i++ {
		if out[i-1].ID == out[i].ID {
			err = errChanging
		}
	}
	return out, err
}

func (a *allgs) read(at uint64) (g Goroutine, ok bool) {
	var b [goroutineBytes]byte
	if a.program.host.Read(at, b[:]) != len(b) {
		return g, false
	}
	return a.check(at, b[:])
}

func (a *allgs) check(at uint64, b []byte) (g Goroutine, ok bool) {
	g = a.decode(at, b)
	if g.ended() {
		return g, true
	}
	waits := g.Status == goroutineWaiting
	return g, g.Status <= goroutineLast && g.ID != 0 && g.StackLo < g.StackHi &&
		(!waits || g.SP >= g.StackLo && g.SP <= g.StackHi) && a.startFuncs.at(g.Start).ok
}

func (a *allgs) decode(at uint64, b []byte) Goroutine {
	w := func(off int64) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	c, l := &a.offsets, &a.fields
	g := Goroutine{Addr: at, ID: w(l.status + afterStatusGoid), Status: uint32(w(l.status)) &^ goroutineScanning,
		StackLo: w(c.GStackLo), StackHi: w(c.GStackHi), SP: w(c.SchedSP), PC: w(c.SchedPC), BP: w(c.SchedBP),
		WaitReason: b[l.status+afterStatusReason], WaitSince: w(l.status + afterStatusSince), Start: w(l.start),
		GoPC: w(l.start - beforeStartGoPC), Parent: w(l.start - beforeStartParent)}
	if c.SchedLR != 0 {
		g.LR = w(c.SchedLR)
	}
	if at := l.start + afterStartLabels; at+8 <= int64(len(b)) {
		g.Labels = w(at)
	}
	return g
}

func (a *allgs) isSystem(g *Goroutine) bool {
	f := a.startFuncs.at(g.Start)
	if f.idle != "" {
		why := a.waitReason(g)
		return g.Status == goroutineWaiting && (why == "" || why == f.idle)
	}
	return g.inC() || f.system || f.name == "" && f.ok && ownWaits[a.waitReason(g)]
}

func (a *allgs) waitReason(g *Goroutine) string {
	if g.Status != goroutineWaiting && g.Status != goroutineLeaked {
		return ""
	}
	return a.reasons.text(a.program, g.WaitReason)
}
