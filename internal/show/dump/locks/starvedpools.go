// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"cmp"
	"slices"
	"strings"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// StarvedPool is a pool whose threads all wait for results of tasks, or are pinned carriers of virtual threads. If what
// they wait for is queued in this pool, no thread is left to run it; stacks do not show the queue.
type StarvedPool struct {
	PID int `json:"pid"`
	// Pool is the common part of its threads' names, Loop the function that runs its tasks.
	Pool string `json:"pool"`
	Loop string `json:"loop"`
	// WaitsIn is the function in which they wait for results; "" means that they are pinned carriers.
	WaitsIn string `json:"waits_in"`
	Threads []int  `json:"threads"`
	// PinnedBy is what keeps the virtual thread of the first one, a carrier; Ready is how many virtual threads are
	// ready to run, and wait for a carrier.
	PinnedBy string `json:"pinned_by,omitempty"`
	Ready    int    `json:"ready,omitempty"`
	// OthersWork is how many threads of other pools work, and may give these results.
	OthersWork int `json:"others_work"`

	waiting, idle int // of Threads
}

func (l *Locks) starvedPools(c Checker) (out []StarvedPool) {
	var groups [][]int
	for _, p := range l.Processes {
		pools, working := poolsOf(p), 0
		for _, s := range pools {
			working += len(s.Threads) - s.waiting - s.idle
		}
		for _, s := range pools {
			if s.OthersWork = working; s.PinnedBy != "" {
				s.Ready = readyVirtualThreads(p)
			}
			if s.waiting == len(s.Threads) && (s.WaitsIn != "" || s.Ready > 0) {
				groups, out = append(groups, s.Threads), append(out, *s)
			}
		}
	}
	asleep := c.ConfirmAsleep(groups)
	return slices.DeleteFunc(out, func(s StarvedPool) bool {
		return !slices.ContainsFunc(asleep, func(tids []int) bool { return tids[0] == s.Threads[0] })
	})
}

func readyVirtualThreads(p *stacks.Process) (n int) {
	for t := range stacks.Each(p.Tasks) {
		if t.Kind == stacks.VirtualThreadKind && t.State == "ready" {
			n += t.Count
		}
	}
	return n
}

// poolsOf returns all pools, starved or not. Threads of one pool have equal names but for a number.
func poolsOf(p *stacks.Process) (out []*StarvedPool) {
	type key struct{ stem, loop string }
	known := map[key]*StarvedPool{}
	for t := range stacks.Each(p.Threads) {
		worker := waits.PoolWorkerOf(t.WaitsFrames())
		if worker.Loop == "" {
			continue
		}
		k := key{strings.TrimRight(t.Name, "0123456789"), worker.Loop}
		if known[k] == nil {
			known[k] = &StarvedPool{PID: p.PID, Pool: t.Name, Loop: worker.Loop}
			out = append(out, known[k])
		}
		known[k].add(t, worker.Result)
		if known[k].Pool != t.Name {
			known[k].Pool = k.stem + "*"
		}
	}
	return out
}

func (s *StarvedPool) add(t *stacks.Thread, result string) {
	s.Threads = append(s.Threads, t.TID)
	if t.WaitsFor == nil || t.State == "R" {
		return
	}
	switch {
	case t.WaitsFor.Mark() != "":
		s.idle++
	case result != "" && !t.WaitsFor.Timed:
		s.waiting++
		s.WaitsIn = cmp.Or(s.WaitsIn, result)
	case !t.WaitsFor.Timed && t.PinnedBy() != "":
		s.waiting++
		s.PinnedBy = cmp.Or(s.PinnedBy, t.PinnedBy())
	}
}
