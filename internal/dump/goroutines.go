// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bytes"
	"slices"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/managed"
)

// Goroutine is a goroutine of a Go program, with or without a thread.
type Goroutine struct {
	ID uint64 `json:"id"`
	// Runtime is the file with its run-time system, where the process has several. Each has IDs of its own.
	Runtime string `json:"runtime,omitempty"`
	// Status is a word of Go's run-time system: runnable, running, syscall, waiting, preempted, leaked, copystack.
	Status string `json:"status"`
	// Wait is the reason of its wait, in the words of Go's run-time system.
	Wait string `json:"wait,omitempty"`
	// Since is for how long it has waited, in nanoseconds, by Go's run-time system: since the garbage collection before
	// the first one that found the wait. 0: not known.
	Since int64 `json:"since_ns,omitempty"`
	// Parent is the goroutine that created it, 0 if not known; CreatedBy is the function.
	Parent    uint64            `json:"parent,omitempty"`
	CreatedBy string            `json:"created_by,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Thread is the thread that it ran on, 0 for none.
	Thread int `json:"thread,omitempty"`
	// System: it belongs to Go's run-time system.
	System     bool    `json:"system,omitempty"`
	Complete   bool    `json:"complete"`
	StopReason string  `json:"stop_reason"`
	Frames     []Frame `json:"frames"`

	created *Place
	waitsAt []goroutineWait
	held    []goroutineHeld
	task    *managed.ParkedTask // to see whether it has run since; nil unless locks are examined
	of      managed.Scheduler

	low, high uint64 // of its stack
}

const (
	maxGoroutineStack = 8 << 20
	maxGoroutineTries = 8
)

// stillRunning is the stop reason of a running goroutine without a sampled thread.
const stillRunning = "running"

type goroutineReader struct {
	of    managed.Scheduler
	file  string // with the system, if there are several; else ""
	read  func(addr uint64, b []byte) int
	space *frames.Space
	walk  *stackWalker
	locks bool
	now   int64 // CLOCK_MONOTONIC ns; 0: unknown

	first, second []byte
	mem           callstack.TaskMemory
}

func (g *Goroutine) stack() *Thread {
	return &Thread{Frames: g.Frames, Complete: g.Complete, StopReason: g.StopReason}
}

func (r *goroutineReader) readAll(systems []managed.Scheduler, threads []Thread) (out []Goroutine, err error) {
	for _, s := range systems {
		if r.of = s; len(systems) > 1 {
			r.file = managed.FileOf(s)
		}
		list, failed := r.readRuntime(threads)
		if failed != nil {
			err = failed
		}
		out = append(out, list...)
	}
	if len(systems) > 1 {
		joinCallers(out)
	}
	return out, err
}

// joinCallers completes goroutines that have called another run-time system through C: a goroutine of that has the
// outer frames.
func joinCallers(list []Goroutine) {
	for i := range list {
		g := &list[i]
		if len(g.Frames) > 0 || g.System {
			continue
		}
		for j := range list {
			if in := &list[j]; in.Runtime != g.Runtime && g.takeOuterFrames(in) {
				break
			}
		}
	}
}

// takeOuterFrames takes in's frames that are on g's stack, and those of C functions that g called.
func (g *Goroutine) takeOuterFrames(in *Goroutine) bool {
	at := slices.IndexFunc(in.Frames, func(f Frame) bool { return uint64(f.SP) >= g.low && uint64(f.SP) < g.high })
	if at < 0 || in.Thread != 0 {
		return false
	}
	for at > 0 && in.Frames[at-1].Module != in.Runtime {
		at--
	}
	g.Frames, g.Complete, g.StopReason = in.Frames[at:], in.Complete, in.StopReason
	return true
}

// readRuntime gives no frames of a goroutine that changed during each try.
func (r *goroutineReader) readRuntime(threads []Thread) ([]Goroutine, error) {
	list, err := r.of.ParkedTasks()
	if err != nil {
		return nil, err
	}
	out := make([]Goroutine, 0, len(list))
	for i := range list {
		t := &list[i]
		g := Goroutine{Runtime: r.file, Frames: []Frame{}, StopReason: stillRunning, of: r.of,
			low: t.StackLo, high: t.StackHi}
		r.readStack(t, &g)
		g.ID, g.Status, g.Wait, g.Parent, g.Labels, g.System = t.ID, t.Status, t.Wait, t.Parent, t.Labels, t.System
		if since := int64(t.Since); g.Wait != "" && since > 0 && since < r.now {
			g.Since = r.now - since
		}
		// created before the run-time system runs Go code
		if m := r.space.ModuleAt(t.CreatedBy); m != nil && t.CreatedBy != 0 && t.ID != 1 {
			f := frames.Frame{PC: t.CreatedBy, Module: m, Caller: true}
			places := r.walk.nativePlaces(&f)
			g.created = places[len(places)-1]
			g.CreatedBy = g.created.Function
		}
		if t.OnThread {
			asleep := joinThread(&g, t, threads)
			r.addLocks(t, &g, nil, asleep)
		}
		out = append(out, g)
	}
	return out, nil
}

// readStack copies and walks a stack. Two equal copies and an unchanged goroutine prove that it did not run in between.
func (r *goroutineReader) readStack(t *managed.ParkedTask, g *Goroutine) {
	for n := 0; n < maxGoroutineTries && !t.OnThread; n++ {
		sp := t.Regs.SP()
		size := min(t.StackHi-sp, maxGoroutineStack)
		if !r.reserve(int(size)) {
			g.StopReason = outOfMemory
			return
		}
		a, b := r.first[:size], r.second[:size]
		got := r.read(sp, a) == len(a) && r.read(sp, b) == len(b) && bytes.Equal(a, b)
		if !r.of.Again(t) || !got {
			continue
		}
		mem := frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: a}, StackEnd: t.StackHi}
		r.walk.arch, r.walk.outOfMemory = t.Regs.Arch, false
		g.Frames = r.walk.native(r.space, &managed.Sample{Regs: &t.Regs, Mem: &mem})
		if r.walk.StopReason() == frames.StopBadMemory {
			r.mem.Begin(mem.Stack, mem.StackEnd, r.read)
			g.Frames = r.walk.native(r.space, &managed.Sample{Regs: &t.Regs, Mem: &r.mem})
			if !r.of.Again(t) {
				continue
			}
		}
		if g.Wait = t.Wait; r.locks {
			g.task = t
			r.addLocks(t, g, a, true)
		}
		g.Frames, g.Complete, g.StopReason = r.walk.end(g.Frames)
		return
	}
}

func (r *goroutineReader) reserve(size int) bool {
	if more := size - len(r.first); more > 0 {
		if r.walk.memory.Take(2*int64(more), "stacks") != nil {
			return false
		}
		r.first, r.second = make([]byte, size), make([]byte, size)
	}
	return true
}

func (r *goroutineReader) close() { r.walk.memory.Give(2 * int64(len(r.first))) }

// joinThread gives a goroutine its thread's stack. asleep: the thread does not run.
func joinThread(g *Goroutine, t *managed.ParkedTask, threads []Thread) (asleep bool) {
	for i := range threads {
		th := &threads[i]
		for j := range th.Frames {
			if sp := frames.Addr(th.Frames[j].SP); sp >= t.StackLo && sp < t.StackHi {
				g.Thread, g.Frames, g.Complete, g.StopReason = th.TID, th.Frames, th.Complete, th.StopReason
				th.Goroutine, th.GoroutineRuntime = g.ID, g.Runtime
				return th.State == "S" || th.State == ""
			}
		}
	}
	return false
}
