// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/chains"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// FollowChains sets l.Followed: what threads and goroutines wait for, to the end. [Locks.Examine] has run before.
func (l *Locks) FollowChains(c Checker) (err error) {
	b := &chainsOf{locks: l, lockOf: map[int]*Lock{}, owners: map[int]*stacks.Thread{}, names: chains.Tasks{}}
	for lock := range stacks.Each(l.Locks) {
		for _, tid := range lock.Waiters {
			b.lockOf[tid] = lock
		}
		if t := lock.OwnerThread; t != nil {
			b.owners[t.TID] = t
		}
	}
	for _, p := range l.Processes {
		for i := range p.Threads {
			b.addThread(p, &p.Threads[i], c)
		}
		for range p.CountFailed() { // one of them may do what is waited for
			b.all = append(b.all,
				chains.Interval{ID: math.MaxInt32 - len(b.all), PID: p.PID, To: 1, Idle: "not read", Blocked: 1})
		}
		b.addGoroutines(p)
		b.addTasks(p)
	}
	b.setFinal(c)
	if l.Followed, err = chains.Build(b.all, 0); err != nil {
		return err
	}
	if n := l.UnreadChildren; n > 0 {
		l.Followed.Conclusion += "; not read: " + tabular.Plural(int64(n), "child process")
	}
	for _, p := range l.Processes {
		for _, text := range []string{p.PendingTasks(), p.OpenClients()} {
			if text != "" {
				l.Followed.Conclusion += "; " + text
			}
		}
	}
	return nil
}

type chainsOf struct {
	locks  *Locks
	lockOf map[int]*Lock
	owners map[int]*stacks.Thread // owners while they held the lock
	tasks  int                    // the number of the last goroutine without a thread, negative
	all    []chains.Interval
	names  chains.Tasks
}

func (b *chainsOf) addThread(p *stacks.Process, t *stacks.Thread, c Checker) {
	if owner := b.owners[t.TID]; owner != nil {
		t = owner
	}
	l := languages.OfScheduler(t.Functions())
	iv := chains.Interval{ID: t.TID, PID: p.PID, To: 1, Apart: l != nil && l.Task != languages.CoroutineTask,
		Link: chains.Link{PID: p.PID, TID: t.TID, Comm: p.Name, Function: t.OwnFunction(), WaitsFor: t.WaitsFor}}
	w := t.WaitsFor
	if t.State == "R" {
		iv.Running = 1
		b.all = append(b.all, iv)
		return
	}
	iv.Blocked = 1
	if w != nil {
		iv.Idle = w.Idle
	}
	iv.Next = chains.NextOf(w)
	if lock := b.lockOf[t.TID]; w != nil && w.Kind.IsSynchronization() && lock != nil {
		iv.Next = chains.NextOf(&lock.Wait)
		if lock.Owner == 0 && lock.OwnerProcess == 0 && len(lock.Likely) == 1 {
			iv.Next, iv.Link.Guess = chains.Next{Thread: lock.Likely[0].TID}, lock.Likely[0].Evidence
		}
	}
	if w != nil && w.Kind == waits.Child && !p.Time.IsZero() { // not a core's
		if child := waits.ChildWaitedFor(p.PID, w.Child); child.PID != 0 {
			iv.Next = chains.Next{Processes: []waits.Peer{child}}
		}
	}
	iv.Next.Final = w != nil && !w.Timed
	sleeps := w != nil && w.Kind != waits.Stopped && w.Kind != waits.Frozen && w.Kind != waits.GIL
	if iv.Idle == "" && sleeps && c.HasRun(t) { // waiters for a GIL wake all the time
		iv.Next = chains.Next{End: chains.End{Kind: chains.Unknown,
			Why: "it ran while the threads were read: dump again, or record"}}
	}
	b.all = append(b.all, iv)
}

// setFinal makes final the waits of proven deadlocks only.
func (b *chainsOf) setFinal(c Checker) {
	final := map[int]bool{}
	add := func(cycles [][]int) {
		for _, cycle := range cycles {
			for _, tid := range cycle {
				final[tid] = true
			}
		}
	}
	add(b.locks.Deadlocks)
	cycles := slices.DeleteFunc(chains.Cycles(b.all), func(cycle []int) bool { return final[cycle[0]] || cycle[0] < 0 })
	add(c.ConfirmAsleep(cycles))
	for i := range b.all {
		b.all[i].Next.Final = final[b.all[i].ID]
	}
}

// addGoroutines adds those without a thread. Only likely owners are known of what they wait for.
func (b *chainsOf) addGoroutines(p *stacks.Process) {
	type key struct {
		runtime string
		id      uint64
	}
	ids, likely := map[key]int{}, map[key]GoroutineOwner{}
	for i := range b.locks.GoroutineLocks {
		if lock := &b.locks.GoroutineLocks[i]; lock.PID == p.PID && len(lock.Likely) == 1 {
			for _, w := range lock.Waiters {
				likely[key{lock.Runtime, w.Goroutine}] = lock.Likely[0]
			}
		}
	}
	for g := range stacks.Each(p.GoroutineStacks) {
		id := g.Thread
		if id == 0 {
			b.tasks--
			id = b.tasks
		}
		ids[key{g.Runtime, g.ID}] = id
	}
	responding, _ := p.Responding()
	oneServer := len(responding) > 0 && !slices.ContainsFunc(responding,
		func(w *waits.Wait) bool { return w.FD.OtherEnd() != responding[0].FD.OtherEnd() })
	for g := range stacks.Each(p.GoroutineStacks) {
		if g.System || g.Thread != 0 {
			continue
		}
		stack := g.Stack()
		iv := chains.Interval{ID: ids[key{g.Runtime, g.ID}], PID: p.PID, To: 1, Blocked: 1,
			Idle: waits.Idle(g.Wait, waits.NoWait, stack.WaitsFrames()).Idle,
			Link: chains.Link{PID: p.PID, Task: g.ID, Comm: p.Name, Function: stack.OwnFunction(),
				WaitsFor: &waits.Wait{Kind: waits.Other, Symbol: g.Wait}}}
		owner, known := likely[key{g.Runtime, g.ID}]
		switch {
		case g.Status == "runnable":
			iv.Queued, iv.Blocked, iv.Link.WaitsFor = 1, 0, nil
		case known:
			iv.Next, iv.Link.Guess = chains.Next{Thread: ids[key{g.Runtime, owner.Goroutine}]}, owner.Evidence
		case g.Wait == "sleep":
			iv.Next.End.Kind = chains.Timer
		case oneServer && g.Calls(waits.HTTPRequest):
			iv.Link.WaitsFor, iv.Next = responding[0], chains.NextOf(responding[0])
		case g.WaitsFor != nil:
			iv.Link.WaitsFor, iv.Next = g.WaitsFor, chains.NextOf(g.WaitsFor)
		default:
			iv.Next.End = chains.End{Kind: chains.Unknown, Why: "a goroutine's " + g.Wait + " has no known owner"}
		}
		b.all = append(b.all, iv)
	}
}

// addMerged adds equal virtual threads, greenlets or fibers without a thread.
func (b *chainsOf) addMerged(p *stacks.Process, t *stacks.Task) {
	w := cmp.Or(t.WaitsFor, &waits.Wait{Kind: waits.Other, Symbol: t.Kind})
	b.tasks--
	stack := stacks.Thread{Frames: t.Frames, WaitsFor: t.WaitsFor}
	iv := chains.Interval{ID: b.tasks, PID: p.PID, To: 1, Blocked: int64(t.Count), Count: t.Count,
		Idle: waits.Idle(t.Awaits, w.Kind, stack.WaitsFrames()).Idle,
		Link: chains.Link{PID: p.PID, Comm: p.Name, WaitsFor: w, Function: stack.OwnFunction()}}
	switch {
	case t.State != "waiting":
		iv.Queued, iv.Blocked, iv.Link.WaitsFor = int64(t.Count), 0, nil
	case t.WaitsFor == nil:
		iv.Next.End = chains.End{Kind: chains.Unknown, Why: "what wakes a " + t.Kind + " is not known"}
	default:
		iv.Next = chains.NextOf(w)
	}
	b.all = append(b.all, iv)
}

// addTasks adds tasks. The thread of a running one of asyncio is not known, and is in the chains itself.
func (b *chainsOf) addTasks(p *stacks.Process) {
	of := map[string]int{}
	for i := range p.Tasks {
		of[p.Tasks[i].Name]++
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		switch t.Kind {
		case languages.AsyncioFamily:
		case stacks.VirtualThreadKind, languages.GreenletTask, languages.FiberTask:
			b.addMerged(p, t)
			continue
		default:
			continue
		}
		own := t.Name
		if of[own] > 1 { // none awaits it by this
			own += fmt.Sprint("\x00", i)
		}
		iv := chains.Interval{ID: b.names.ID(p.PID, own), PID: p.PID, To: 1, Blocked: 1,
			Link: chains.Link{PID: p.PID, TaskName: t.Name, Comm: p.Name, WaitsFor: t.WaitsFor,
				Function: (&stacks.Thread{Frames: t.Frames}).OwnFunction()}}
		switch {
		case t.State == "running":
			iv.Running, iv.Blocked = 1, 0
		case t.WaitsFor == nil:
			iv.Next.End = chains.End{Kind: chains.Unknown, Why: "the task is ready, and waits for its event loop"}
		case len(t.AwaitsTasks) > 1:
			iv.Next.End = chains.End{Kind: chains.Unknown, Why: "awaits several tasks"}
		default:
			iv.Next = b.names.Next(t.WaitsFor, p.PID, strings.Join(t.AwaitsTasks, ""))
		}
		b.all = append(b.all, iv)
	}
}
