// SPDX-License-Identifier: Apache-2.0

package goroutines

import (
	"bytes"
	"slices"

	"prywalk/frames"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/managed"
)

// joinCallers completes goroutines that have called another runtime through C: a goroutine of that runtime has their
// outer frames.
func joinCallers(list []stacks.Goroutine) {
	for i := range list {
		g := &list[i]
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
		if r.Locks {
			again := r.scheduler.Reread
			g.Unchanged = func() bool { return again(t) }
			r.addLocks(t, g, a, true)
		}
		g.Frames, g.Complete, g.StopReason = r.Walk.WithReason(walked)
		return
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

// joinThread sets a goroutine's frames to its thread's. asleep: the thread does not run.
func joinThread(g *stacks.Goroutine, t *managed.TaskRecord, threads []stacks.Thread) (asleep bool) {
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
