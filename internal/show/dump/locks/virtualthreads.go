// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"cmp"
	"slices"

	"prywalk/internal/base/languages"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// TaskLock is what virtual threads wait for: one lock, or all objects of a class that have no known owner.
type TaskLock struct {
	waits.Wait
	PID     int      `json:"pid"`
	Waiters []uint64 `json:"waiters"`
	// In is the first waiter's function of the program, with line.
	In string `json:"in,omitempty"`
}

// Waiter is a thread, or a virtual thread.
type Waiter struct {
	PID  int    `json:"pid"`
	TID  int    `json:"tid,omitempty"`
	Task uint64 `json:"task,omitempty"`
	Name string `json:"name,omitempty"`
	// In is the program's function in which it waits, with line.
	In   string     `json:"in,omitempty"`
	Wait waits.Wait `json:"waits_for"`
}

type taskLockKey struct {
	pid       int
	kind      waits.Kind
	class     string
	owner     int
	ownerTask uint64
	address   uint64
}

func (l *Locks) collectTaskLocks() {
	at := map[taskLockKey]int{}
	for _, p := range l.Processes {
		if p.VirtualThreads == nil {
			continue
		}
		for w := range stacks.Each(p.VirtualThreads.Waiting) {
			k := taskLockKey{p.PID, w.Kind, w.Symbol, w.Owner, w.OwnerTask, 0}
			if hasOwner(&w.Wait) {
				k.address = uint64(w.Address)
			} else {
				l.TasksWithoutOwner++
			}
			n, has := at[k]
			if !has {
				n = len(l.TaskLocks)
				at[k], l.TaskLocks = n, append(l.TaskLocks, TaskLock{Wait: w.Wait, PID: p.PID, In: w.In})
			} else if !hasOwner(&w.Wait) {
				l.TaskLocks[n].Address = 0
			}
			l.TaskLocks[n].Waiters = append(l.TaskLocks[n].Waiters, w.ID)
		}
	}
	slices.SortStableFunc(l.TaskLocks, func(a, b TaskLock) int {
		return cmp.Or(rank(!hasOwner(&a.Wait))-rank(!hasOwner(&b.Wait)), len(b.Waiters)-len(a.Waiters))
	})
}

func hasOwner(w *waits.Wait) bool { return w.Owner != 0 || w.OwnerTask != 0 }

// taskCycles returns the confirmed cycles with a virtual thread. In these a virtual thread is −1 − its index in nodes.
func (l *Locks) taskCycles(c Checker) (out [][]Waiter) {
	type id struct {
		pid  int
		task uint64
	}
	var nodes []Waiter
	numbers := map[id]int{}
	for _, p := range l.Processes {
		if p.VirtualThreads == nil {
			continue
		}
		for w := range stacks.Each(p.VirtualThreads.Waiting) {
			if hasOwner(&w.Wait) && !w.Timed {
				nodes = append(nodes, Waiter{PID: p.PID, Task: w.ID, Name: w.Name, In: w.In, Wait: w.Wait})
				numbers[id{p.PID, w.ID}] = -len(nodes)
			}
		}
	}
	g := l.graph()
	link := func(from, pid int, w *waits.Wait) {
		if to, has := numbers[id{pid, w.OwnerTask}]; has && w.OwnerTask != 0 {
			g[from] = to
		} else if w.Owner != 0 {
			g[from] = w.Owner
		}
	}
	for i := range nodes {
		link(-1-i, nodes[i].PID, &nodes[i].Wait)
	}
	for p, t := range stacks.ThreadsOf(l.Processes) {
		if w := t.WaitsFor; w != nil && !w.Timed && w.OwnerTask != 0 {
			link(t.TID, p.PID, w)
		}
	}
	var cycles [][]Waiter
	for _, cycle := range waits.Cycles(g) {
		if !slices.ContainsFunc(cycle, func(n int) bool { return n < 0 }) {
			continue
		}
		var members []Waiter
		for _, n := range cycle {
			if n < 0 {
				members = append(members, nodes[-1-n])
				continue
			}
			t, p := l.Thread(n)
			members = append(members, Waiter{PID: p.PID, TID: n, Name: t.Name, In: t.OwnPlace(), Wait: *t.WaitsFor})
		}
		cycles = append(cycles, members)
	}
	if len(cycles) == 0 {
		return nil
	}
	return c.ConfirmTaskDeadlocks(cycles)
}

// tasksLeftOut counts the virtual threads, and parts of their lists, that were not read.
func (l *Locks) tasksLeftOut() (n int) {
	for _, p := range l.Processes {
		if v := p.VirtualThreads; v != nil {
			n += v.LeftOut()
			if v.Untracked {
				n++
			}
		}
	}
	return n
}

// examines reports whether all virtual threads of the processes that have some were looked for.
func (l *Locks) examines(lang *languages.Language) bool {
	return !slices.ContainsFunc(l.Processes, func(p *stacks.Process) bool {
		return p.Schedules(lang) && !p.Examines(lang)
	})
}
