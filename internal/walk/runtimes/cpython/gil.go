// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// # The interpreter lock
//
// struct _gil_runtime_state (Include/internal/pycore_gil.h) begins, in 3.8 to 3.15, with
//
//	0   interval: µs until a waiter requests the lock
//	8   last_holder: the thread state that has or last had the lock
//	16  locked: 1 if taken, −1 before it is made
//	24  switch_number: count of switches
//	32  the condition variable of its waiters, 48 bytes with glibc and musl
//
// Its offset in _PyRuntime differs between builds, so it is found by contents. A sub-interpreter's own lock (3.12 on)
// is not supported. As the holder changes every few milliseconds, it is copied in the observation of the waiter.

type gil struct {
	python     *interpreter
	threads    *threads
	names      *threadNames
	at         uint64 // 0 means unknown
	tries      int
	lastSearch int64 // in nanoseconds of CLOCK_MONOTONIC
}

const (
	gilLastHolder   = 8
	gilLocked       = 16
	gilSwitchNumber = 24
	gilHead         = 32 // before the condition variable
	gilCond         = 32
	gilCondEnd      = 80
)

const (
	maxSwitchInterval = 1e9      // µs
	maxRuntime        = 1 << 20  // bytes; 460,000 in 3.12
	gilPiece          = 64 << 10 // bytes

	maxTries    = 30 // after the first
	searchEvery = int64(time.Second)
)

func isGIL(b []byte, states map[uint64]bool) bool {
	interval := binary.LittleEndian.Uint64(b)
	locked := binary.LittleEndian.Uint32(b[gilLocked:])
	holder := binary.LittleEndian.Uint64(b[gilLastHolder:])
	return interval != 0 && interval <= maxSwitchInterval && states[holder] && locked <= 1 &&
		binary.LittleEndian.Uint32(b[gilLocked+4:]) == 0 && binary.LittleEndian.Uint64(b[gilSwitchNumber:]) != 0
}

const defaultSwitchInterval = 5000 // µs

// find searches for the lock by the thread states last read; of several candidates it takes the only one with the
// default interval. It reports whether there are candidates.
func (g *gil) find() bool {
	states := map[uint64]bool{}
	for i := range g.threads.list {
		states[g.threads.list[i].at] = true
	}
	var usual, others []uint64
	b := make([]byte, gilPiece)
	end := g.python.at + min(g.python.size, maxRuntime)
	for at := g.python.at; at < end; at += gilPiece - gilHead {
		n := g.python.host.Read(at, b[:min(gilPiece, end-at)])
		for i := 0; i+gilHead <= n && i < gilPiece-gilHead; i += 8 {
			switch {
			case !isGIL(b[i:], states):
			case binary.LittleEndian.Uint64(b[i:]) == defaultSwitchInterval:
				usual = append(usual, at+uint64(i))
			default:
				others = append(others, at+uint64(i))
			}
		}
	}
	switch {
	case len(usual) == 1:
		g.at = usual[0]
	case len(usual) == 0 && len(others) == 1:
		g.at = others[0]
	}
	return len(usual)+len(others) > 0
}

func (g *gil) retryFind() (found bool) {
	now := procmem.Now()
	if g.at != 0 || g.python.headExtra != 0 || g.tries == maxTries || now-g.lastSearch < searchEvery {
		return false
	}
	g.tries, g.lastSearch = g.tries+1, now
	g.find()
	return g.at != 0
}

func (g *gil) waiting(q *managed.WaitQuery) (w managed.WaitAnswer, ok bool) {
	if g.at == 0 || q.Word < g.at+gilCond || q.Word >= g.at+gilCondEnd {
		return w, false
	}
	w = managed.WaitAnswer{Kind: waits.GIL, Address: g.at}
	b, ok := g.copied(q)
	if !ok {
		w.Later = true
		return w, true
	}
	if binary.LittleEndian.Uint32(b[gilLocked:]) != 1 { // being passed on
		return w, true
	}
	state := binary.LittleEndian.Uint64(b[gilLastHolder:])
	if th := g.threads.threadAt(state); th != nil && th.native != 0 {
		g.names.setOwner(&w, th)
	}
	return w, true
}

func (g *gil) copied(q *managed.WaitQuery) (b [gilHead]byte, ok bool) {
	if q.Mem != nil {
		ok = true
		for i := 0; i < gilHead && ok; i += 8 {
			var v uint64
			v, ok = q.Mem.Word(g.at + uint64(i))
			binary.LittleEndian.PutUint64(b[i:], v)
		}
		if ok {
			return b, true
		}
	}
	if g.python.host.Read(g.at, b[:]) != len(b) || q.Live == nil || !q.Live.Unchanged() {
		return b, false
	}
	return b, true
}
