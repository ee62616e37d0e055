// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/schema"
)

// # What goroutines wait for
//
// A sync.Mutex stores no owner. Likely is a goroutine with a function on its stack that has locked it, and not unlocked
// it before its current call ([managed.Scheduler]); but another may unlock it, so a cycle is only a possible deadlock.
// Of a channel only the waiters are known.

// GoroutineLock is what goroutines wait for.
type GoroutineLock struct {
	PID int `json:"pid"`
	// Runtime is the file with the goroutines' run-time system, where the process has several.
	Runtime string     `json:"runtime,omitempty"`
	Kind    string     `json:"kind"` // sync.Mutex, sync.RWMutex, sync.WaitGroup, sync.Cond, semaphore, chan
	Address schema.Hex `json:"address"`
	Symbol  string     `json:"symbol,omitempty"`
	// Queued is how many values are in a channel, Capacity how many fit.
	Queued   uint64            `json:"queued,omitempty"`
	Capacity uint64            `json:"capacity,omitempty"`
	Closed   bool              `json:"closed,omitempty"`
	Waiters  []GoroutineWaiter `json:"waiters"`
	Likely   []GoroutineOwner  `json:"likely_owners,omitempty"`
}

// GoroutineWaiter is a goroutine that waits.
type GoroutineWaiter struct {
	Goroutine uint64 `json:"goroutine"`
	Wait      string `json:"wait,omitempty"` // in the words of Go's run-time system
	// Send: it waits to send to the channel, not to receive. Reads: it waits to read.
	Send  bool   `json:"send,omitempty"`
	Reads bool   `json:"reads,omitempty"`
	In    string `json:"in,omitempty"` // the program's function that waits, with its line
}

// GoroutineOwner is a goroutine that likely holds a lock.
type GoroutineOwner struct {
	Goroutine uint64 `json:"goroutine"`
	Reads     bool   `json:"reads,omitempty"`
	Evidence  string `json:"evidence"`
}

// GoroutineCycle is goroutines of which each waits for a lock that the next one likely holds.
type GoroutineCycle struct {
	PID int `json:"pid"`
	// Runtime is the file with their run-time system, where the process has several.
	Runtime    string   `json:"runtime,omitempty"`
	Goroutines []uint64 `json:"goroutines"`
}

type goroutineWait struct {
	managed.TaskWait
	kind   string
	symbol string
	reads  bool
}

type goroutineHeld struct {
	managed.TaskLock
	frame int
	taken string
}

const (
	kindMutex     = "sync.Mutex"
	kindRWMutex   = "sync.RWMutex"
	kindWaitGroup = "sync.WaitGroup"
	kindCond      = "sync.Cond"
	kindSemaphore = "semaphore"
	kindChannel   = "chan"
)

// Offsets of Mutex.sema, RWMutex.writerSem and readerSem, Cond.notify (package sync).
const (
	mutexSema  = 4
	writerSema = 8
	readerSema = 12
	condNotify = 16
)

// condLocker is the offset of the pointer in Cond.L.
const condLocker = 8

const condWait = "sync.(*Cond).Wait"

const maxSyncFrames = 12

// addLocks adds what a goroutine waits for and holds. stack: its copy, nil if on a thread.
func (r *goroutineReader) addLocks(t *managed.ParkedTask, g *Goroutine, stack []byte, asleep bool) {
	of := r.of
	if of == nil || !r.locks {
		return
	}
	if stack != nil {
		for _, w := range of.WaitsAt(t, stack) {
			g.waitsAt = append(g.waitsAt, r.nameWait(g, w))
		}
	}
	for i := range g.Frames[:min(len(g.Frames), maxExamined)] {
		f := &g.Frames[i]
		if f.Inlined || f.PC == 0 || i == 0 {
			continue
		}
		sp := frames.Addr(f.SP)
		if stack == nil && !asleep {
			sp = 0 // the stack changes
		}
		for _, h := range of.HeldLocks(frames.Addr(f.PC), sp) {
			g.held = append(g.held, goroutineHeld{TaskLock: h, frame: i, taken: r.placeOf(h.Taken, f)})
		}
	}
	r.dropUnlockedByWait(g)
	g.dropAwaited()
}

// maxCondFrame bounds the frame of [sync.Cond.Wait], bytes.
const maxCondFrame = 256

// dropUnlockedByWait removes the mutex that [sync.Cond.Wait] has unlocked. Its frame has the address of the Cond or its
// notify; Cond.L's second word is the mutex.
func (r *goroutineReader) dropUnlockedByWait(g *Goroutine) {
	at := slices.IndexFunc(g.Frames[:min(len(g.Frames), maxSyncFrames)], func(f Frame) bool {
		return f.Function == condWait
	})
	if at < 0 || at+1 >= len(g.Frames) || len(g.held) == 0 {
		return
	}
	from, to := uint64(g.Frames[at].SP), uint64(g.Frames[at+1].SP)
	if from >= to || to-from > maxCondFrame {
		return
	}
	for ; from+8 <= to; from += 8 {
		object := r.word(from)
		for _, cond := range []uint64{object, object - condNotify} {
			mutex := r.word(cond + condLocker)
			g.held = slices.DeleteFunc(g.held, func(h goroutineHeld) bool { return h.Address == mutex && h.frame > at })
		}
	}
}

// word gives 0 if unreadable.
func (r *goroutineReader) word(at uint64) uint64 {
	var b [8]byte
	if r.read(at, b[:]) != len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (r *goroutineReader) placeOf(at frames.Addr, in *Frame) string {
	m := r.space.ModuleAt(at)
	if m == nil {
		return in.location()
	}
	f := frames.Frame{PC: at + 1, Module: m, Caller: true}
	list := r.walk.nativePlaces(&f)
	place := Frame{Place: list[len(list)-1]}
	for _, p := range list { // Lock itself
		if !strings.HasPrefix(p.Function, "sync.") && !strings.HasPrefix(p.Function, "internal/") &&
			!strings.HasPrefix(p.Function, "sync/atomic.") {
			place = Frame{Place: p}
			break
		}
	}
	return place.location()
}

func (r *goroutineReader) nameWait(g *Goroutine, w managed.TaskWait) goroutineWait {
	out := goroutineWait{TaskWait: w, kind: kindChannel}
	if !w.Channel {
		out.setSync(g.Frames)
	}
	if img, at := code.ImageAt(r.space, out.Address); img != nil {
		if name, offset, ok := r.walk.names.Object(img, r.walk.pid, at); ok {
			out.symbol = name
			if offset != 0 {
				out.symbol += fmt.Sprintf("+%#x", offset)
			}
		}
	}
	return out
}

// setSync identifies an object of package sync by the functions that wait for it.
func (w *goroutineWait) setSync(stack []Frame) {
	word, inMutex := w.Address, false
	w.kind = kindSemaphore
	for i := range stack[:min(len(stack), maxSyncFrames)] {
		switch stack[i].Function {
		case "sync.(*Mutex).Lock", "internal/sync.(*Mutex).Lock", "sync.(*Mutex).lockSlow",
			"internal/sync.(*Mutex).lockSlow":
			if !inMutex {
				w.kind, w.Address, inMutex = kindMutex, word-mutexSema, true
			}
		case "sync.(*RWMutex).Lock": // waits for its Mutex, or for readers
			if w.kind = kindRWMutex; !inMutex {
				w.Address = word - writerSema
			}
		case "sync.(*RWMutex).RLock":
			w.kind, w.Address, w.reads = kindRWMutex, word-readerSema, true
		case "sync.(*WaitGroup).Wait":
			w.kind = kindWaitGroup
		case condWait:
			if w.kind == kindSemaphore { // else woken, it locks Cond.L
				w.kind, w.Address = kindCond, word-condNotify
			}
		}
	}
}

// dropAwaited removes awaited locks, whose taking has begun, from the held ones.
func (g *Goroutine) dropAwaited() {
	for i := range g.waitsAt {
		inner := -1
		for j := range g.held {
			if h := &g.held[j]; h.Address == g.waitsAt[i].Address && (inner < 0 || h.frame <= g.held[inner].frame) {
				if inner < 0 || h.frame < g.held[inner].frame || h.Taken > g.held[inner].Taken {
					inner = j
				}
			}
		}
		if inner >= 0 {
			g.held = slices.Delete(g.held, inner, inner+1)
		}
	}
}

type goLockKey struct {
	pid     int
	address frames.Addr
}

// collectGoroutineLocks lists locks, then channels, each with most waiters first.
func (l *Locks) collectGoroutineLocks() {
	at := map[goLockKey]int{}
	for _, p := range l.Processes {
		for i := range p.GoroutineStacks {
			g := &p.GoroutineStacks[i]
			if g.System {
				continue
			}
			for _, w := range g.waitsAt {
				k := goLockKey{p.PID, w.Address}
				n, ok := at[k]
				if !ok {
					n = len(l.GoroutineLocks)
					at[k] = n
					l.GoroutineLocks = append(l.GoroutineLocks, GoroutineLock{PID: p.PID, Runtime: g.Runtime, Kind: w.kind,
						Address: schema.Hex(w.Address), Symbol: w.symbol, Queued: w.Queued, Capacity: w.Room, Closed: w.Closed})
				}
				m := &l.GoroutineLocks[n]
				if w.kind == kindRWMutex {
					m.Kind = w.kind
				}
				m.Waiters = append(m.Waiters, GoroutineWaiter{Goroutine: g.ID, Wait: g.Wait, Send: w.Send, Reads: w.reads,
					In: g.ownPlace()})
			}
		}
		l.addGoroutineOwners(p, at)
	}
	slices.SortStableFunc(l.GoroutineLocks, func(a, b GoroutineLock) int {
		channel := func(m *GoroutineLock) int { return map[bool]int{true: 1}[m.Kind == kindChannel] }
		return cmp.Or(channel(&a)-channel(&b), len(b.Waiters)-len(a.Waiters), cmp.Compare(a.Address, b.Address))
	})
}

func (l *Locks) addGoroutineOwners(p *Process, at map[goLockKey]int) {
	for i := range p.GoroutineStacks {
		g := &p.GoroutineStacks[i]
		for _, h := range g.held {
			n, ok := at[goLockKey{p.PID, h.Address}]
			if !ok {
				continue
			}
			m := &l.GoroutineLocks[n]
			if !m.isLock() {
				continue
			}
			if h.Read {
				m.Kind = kindRWMutex
			}
			m.Likely = append(m.Likely, GoroutineOwner{Goroutine: g.ID, Reads: h.Read,
				Evidence: "locked at " + h.taken + ", and not unlocked before the call that its stack is in"})
		}
	}
}

func (p *Process) goroutine(runtime string, id uint64) *Goroutine {
	for i := range p.GoroutineStacks {
		if g := &p.GoroutineStacks[i]; g.ID == id && g.Runtime == runtime {
			return &p.GoroutineStacks[i]
		}
	}
	return nil
}

// isLock reports whether it has an owner, unlike a channel, condition or wait group.
func (m *GoroutineLock) isLock() bool { return m.Kind == kindMutex || m.Kind == kindRWMutex }
