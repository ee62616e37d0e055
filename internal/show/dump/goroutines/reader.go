// SPDX-License-Identifier: Apache-2.0

// Package goroutines reads the stacks of goroutines, what they wait for and hold.
//
// # Algorithm
//
// Go's runtime lists its goroutines (managed.Scheduler). A goroutine on a thread has the thread's stack. The stack of
// any other is copied twice: two equal copies and an unchanged goroutine prove that it did not run in between. If it
// has called another runtime through C, a goroutine of that runtime has its outer frames.
//
// A sync.Mutex stores no owner. A likely owner has on its stack a function that has locked the mutex, and not unlocked
// it before its current call. Another goroutine may unlock it. Of a channel only the waiters are known. Of a goroutine
// with
//
//	sync.(*Mutex).Lock   awaits sync.Mutex 0xc000012018
//	main.transfer        locks 0xc000012010 at bank.go:21, 0xc000012018 at bank.go:22
//	main.main
//
// the mutex at …18 is awaited, and only the one at …10 is held.
package goroutines

import (
	"bytes"
	"fmt"
	"slices"

	"prywalk/frames"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

const stillRunning = "running"

// Reader reads the goroutines of one process, live or of a core.
type Reader struct {
	// Read reads the process's memory and returns the number of bytes.
	Read  func(addr uint64, b []byte) int
	Space *frames.Space
	Walk  *walk.Walker
	// Locks means that the reader also reads what goroutines wait for and hold.
	Locks bool
	// Files are the process's descriptors, or nil if they are not known, as for a core.
	Files *waits.OpenFiles
	// Now is CLOCK_MONOTONIC in nanoseconds, or 0 if it is unknown.
	Now int64

	scheduler     managed.Scheduler
	file          string // of the scheduler, if there are several; else ""
	first, second []byte
	mem           callstack.TaskMemory
}

// ReadAll reads the goroutines of all runtimes and joins them with their threads. err is of the last unreadable
// scheduler.
func (r *Reader) ReadAll(schedulers []managed.Scheduler, threads []stacks.Thread) (out []stacks.Goroutine, err error) {
	defer func() { r.Walk.Memory.Give(2 * int64(len(r.first))) }()
	for _, s := range schedulers {
		if r.scheduler = s; len(schedulers) > 1 {
			r.file = managed.FileOf(s)
		}
		list, failed := s.AllTasks()
		if failed != nil {
			whose := "that wait"
			if r.file != "" {
				whose = "of " + r.file
			}
			err = fmt.Errorf("goroutines %s are not shown; their number is not known: %w", whose, failed)
		}
		for i := range list {
			out = append(out, r.readGoroutine(&list[i], threads))
		}
	}
	if len(schedulers) > 1 {
		joinCallers(out)
	}
	return out, err
}

// Advice says how goroutines that prywalk cannot read are seen; pid is 0 for a core.
func Advice(pid int) string {
	if pid == 0 {
		return "to see them: dlv core PROGRAM FILE"
	}
	return "to see them: net/http/pprof's /debug/pprof/goroutine?debug=2, dlv attach (stops the process), or kill -QUIT " +
		"(ends the process)"
}

// readGoroutine returns a goroutine that changed during each try without frames.
func (r *Reader) readGoroutine(t *managed.TaskRecord, threads []stacks.Thread) stacks.Goroutine {
	g := stacks.Goroutine{Runtime: r.file, Frames: []stacks.Frame{}, StopReason: stillRunning, StackLow: t.StackLo,
		StackHigh: t.StackHi}
	r.readStack(t, &g)
	g.ID, g.Status, g.Wait, g.Parent, g.Labels, g.System = t.ID, t.Status, t.Wait, t.Parent, t.Labels, t.System
	if since := int64(t.Since); g.Wait != "" && since > 0 && since < r.Now {
		g.Since = r.Now - since
	}
	// goroutine 1 is created before the runtime runs Go code
	if m := r.Space.ModuleAt(t.CreatedBy); m != nil && t.CreatedBy != 0 && t.ID != 1 {
		f := frames.Frame{PC: t.CreatedBy, Module: m, AfterCall: true}
		places := r.Walk.Places(&f)
		g.Created = places[len(places)-1]
		g.CreatedBy = g.Created.Function
	}
	if t.OnThread {
		asleep := joinThread(&g, t, threads)
		r.addLocks(t, &g, nil, asleep)
	}
	return g
}

// joinCallers completes goroutines that have called another runtime through C: a goroutine of that runtime has their
// outer frames.
func joinCallers(list []stacks.Goroutine) {
	for g := range stacks.Each(list) {
		if len(g.Frames) > 0 || g.System {
			continue
		}
		for j := range list {
			if in := &list[j]; in.Runtime != g.Runtime && takeOuterFrames(g, in) {
				break
			}
		}
	}
}

// takeOuterFrames takes in's frames on g's stack, and those of C functions that g called.
func takeOuterFrames(g, in *stacks.Goroutine) bool {
	first := slices.IndexFunc(in.Frames, func(f stacks.Frame) bool {
		return uint64(f.SP) >= g.StackLow && uint64(f.SP) < g.StackHigh
	})
	if first < 0 || in.Thread != 0 {
		return false
	}
	for first > 0 && in.Frames[first-1].Module != in.Runtime {
		first--
	}
	g.Frames, g.Complete, g.StopReason = in.Frames[first:], in.Complete, in.StopReason
	return true
}

const (
	maxStack = 8 << 20
	maxTries = 8 // of a goroutine that runs meanwhile
)

func (r *Reader) readStack(t *managed.TaskRecord, g *stacks.Goroutine) {
	for n := 0; n < maxTries && !t.OnThread; n++ {
		sp := t.Regs.SP()
		size := min(t.StackHi-sp, maxStack)
		if !r.reserve(int(size)) {
			r.Walk.OutOfMemory = true
			g.Frames, g.Complete, g.StopReason = r.Walk.WithReason(g.Frames)
			return
		}
		a, b := r.first[:size], r.second[:size]
		got := r.Read(sp, a) == len(a) && r.Read(sp, b) == len(b) && bytes.Equal(a, b)
		if !r.scheduler.Reread(t) || !got {
			continue
		}
		mem := frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: a}, StackEnd: t.StackHi}
		walked := r.Walk.Native(r.Space, &t.Regs, &mem)
		if r.Walk.StopReason() == frames.StopBadMemory {
			r.Walk.Uncharge()
			r.mem.Begin(mem.Stack, mem.StackEnd, r.Read)
			walked = r.Walk.Native(r.Space, &t.Regs, &r.mem)
			if !r.scheduler.Reread(t) {
				r.Walk.Uncharge()
				continue
			}
		}
		g.Wait, g.Frames = t.Wait, walked
		r.addDescriptor(t, g, a)
		if r.Locks {
			again := r.scheduler.Reread
			g.Unchanged = func() bool { return again(t) }
			r.addLocks(t, g, a, true)
		}
		g.Frames, g.Complete, g.StopReason = r.Walk.WithReason(walked)
		return
	}
}

// addDescriptor adds the descriptor of an IO wait, if the process has it open.
func (r *Reader) addDescriptor(t *managed.TaskRecord, g *stacks.Goroutine, stack []byte) {
	if r.Files == nil {
		return
	}
	fd, ok := r.scheduler.Polled(t, stack)
	if !ok {
		return
	}
	w := &waits.Wait{Kind: waits.Descriptor, FD: &waits.OpenFile{FD: waits.FileNumber(fd)}}
	if r.Files.AddFileDetails(w); w.FD.Path != "" && r.scheduler.Reread(t) {
		w.Idleness = waits.Idle(g.Wait, waits.NoWait, g.Stack().WaitsFrames())
		g.WaitsFor = w
	}
}

func (r *Reader) reserve(size int) bool {
	if more := size - len(r.first); more > 0 {
		if r.Walk.Memory.Take(2*int64(more), "stacks") != nil {
			return false
		}
		r.first, r.second = make([]byte, size), make([]byte, size)
	}
	return true
}

// joinThread sets a goroutine's frames to its thread's. asleep means that the thread does not run.
func joinThread(g *stacks.Goroutine, t *managed.TaskRecord, threads []stacks.Thread) (asleep bool) {
	for th := range stacks.Each(threads) {
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
