// SPDX-License-Identifier: Apache-2.0

package goroutines

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/managed"
)

// Offsets in Cond (package sync).
const (
	condLocker = 8
	condNotify = 16
)

const condWait = "sync.(*Cond).Wait"

const maxSyncFrames = 12

// addLocks adds what a goroutine waits for and holds. stack is its copied stack, or nil if it is on a thread.
func (r *Reader) addLocks(t *managed.TaskRecord, g *stacks.Goroutine, stack []byte, asleep bool) {
	if !r.Locks {
		return
	}
	if stack != nil {
		for _, w := range r.scheduler.WaitsAt(t, stack) {
			g.Awaits = append(g.Awaits, r.nameWait(g, w))
		}
	}
	awaited := frames.Addr(0)
	if len(g.Awaits) == 1 {
		awaited = g.Awaits[0].Address
	}
	for i := range g.Frames[:min(len(g.Frames), stacks.MaxExamined)] {
		f := &g.Frames[i]
		if f.Inlined || f.PC == 0 || i == 0 {
			continue
		}
		changes := stack == nil && !asleep
		held := r.scheduler.HeldLocks(frames.Addr(f.PC), frames.Addr(f.SP), awaited, nil)
		if changes && r.word(uint64(f.SP)-8) != uint64(f.PC) { // the call has returned meanwhile
			held = r.scheduler.HeldLocks(frames.Addr(f.PC), 0, awaited, nil)
		}
		for _, h := range held {
			g.Holds = append(g.Holds, stacks.HeldGoLock{TaskLock: h, Frame: i, TakenAt: r.placeOf(h.Taken, f)})
		}
	}
	r.dropUnlockedByWait(g)
	dropAwaited(g)
}

const maxCondFrame = 256

// dropUnlockedByWait removes the mutex that Cond.Wait has unlocked. Wait's frame has the address of the Cond or its
// notify; Cond.L's second word is the mutex.
func (r *Reader) dropUnlockedByWait(g *stacks.Goroutine) {
	wait := slices.IndexFunc(g.Frames[:min(len(g.Frames), maxSyncFrames)], func(f stacks.Frame) bool {
		return f.Function == condWait
	})
	if wait < 0 || wait+1 >= len(g.Frames) || len(g.Holds) == 0 {
		return
	}
	from, to := uint64(g.Frames[wait].SP), uint64(g.Frames[wait+1].SP)
	if from >= to || to-from > maxCondFrame {
		return
	}
	for ; from+8 <= to; from += 8 {
		object := r.word(from)
		for _, cond := range []uint64{object, object - condNotify} {
			mutex := r.word(cond + condLocker)
			g.Holds = slices.DeleteFunc(g.Holds, func(h stacks.HeldGoLock) bool {
				return h.Address == mutex && h.Frame > wait
			})
		}
	}
}

func (r *Reader) word(at uint64) uint64 {
	var b [8]byte
	if r.Read(at, b[:]) != len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (r *Reader) placeOf(at frames.Addr, in *stacks.Frame) string {
	m := r.Space.ModuleAt(at)
	if m == nil {
		return in.Location()
	}
	f := frames.Frame{PC: at + 1, Module: m, AfterCall: true}
	list := r.Walk.Places(&f)
	for _, p := range list { // Lock itself
		if !strings.HasPrefix(p.Function, "sync.") && !strings.HasPrefix(p.Function, "internal/") &&
			!strings.HasPrefix(p.Function, "sync/atomic.") {
			return p.Location()
		}
	}
	return list[len(list)-1].Location()
}

func (r *Reader) nameWait(g *stacks.Goroutine, w managed.TaskWait) stacks.GoroutineWait {
	out := stacks.GoroutineWait{TaskWait: w, Kind: stacks.KindChannel}
	if !w.Channel {
		setSync(&out, g.Frames)
	}
	v := r.Walk.VariableAt(r.Space, out.Address)
	if out.Symbol = v.Name; v.Offset != 0 {
		out.Symbol += fmt.Sprintf("+%#x", v.Offset)
	}
	return out
}

func setSync(w *stacks.GoroutineWait, stack []stacks.Frame) {
	word, inMutex := w.Address, false
	w.Kind = stacks.KindSemaphore
	for i := range stack[:min(len(stack), maxSyncFrames)] {
		switch stack[i].Function {
		case "sync.(*Mutex).Lock", "internal/sync.(*Mutex).Lock", "sync.(*Mutex).lockSlow",
			"internal/sync.(*Mutex).lockSlow":
			if !inMutex {
				w.Kind, w.Address, inMutex = stacks.KindMutex, word-managed.MutexSema, true
			}
		case "sync.(*RWMutex).Lock": // waits for its Mutex or for readers
			if w.Kind = stacks.KindRWMutex; !inMutex {
				w.Address = word - managed.WriterSema
			}
		case "sync.(*RWMutex).RLock":
			w.Kind, w.Address, w.Reads = stacks.KindRWMutex, word-managed.ReaderSema, true
		case "sync.(*WaitGroup).Wait":
			w.Kind = stacks.KindWaitGroup
		case condWait:
			if w.Kind == stacks.KindSemaphore { // else woken, it locks Cond.L
				w.Kind, w.Address = stacks.KindCond, word-condNotify
			}
		}
	}
}

func dropAwaited(g *stacks.Goroutine) {
	for i := range g.Awaits {
		inner := -1
		for j := range g.Holds {
			h := &g.Holds[j]
			if h.Address != g.Awaits[i].Address {
				continue
			}
			// in a frame farther in, or later in the same frame
			if inner < 0 || h.Frame < g.Holds[inner].Frame || h.Frame == g.Holds[inner].Frame && h.Taken > g.Holds[inner].Taken {
				inner = j
			}
		}
		if inner >= 0 {
			g.Holds = slices.Delete(g.Holds, inner, inner+1)
		}
	}
}
