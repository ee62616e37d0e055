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
	// WaitsIn is the function in which they wait for results; "": they are pinned carriers.
	WaitsIn string `json:"waits_in"`
	Threads []int  `json:"threads"`
	// PinnedBy is what keeps the virtual thread of the first one, a carrier; Ready is how many virtual threads are
	// ready to run, and wait for a carrier.
	PinnedBy string `json:"pinned_by,omitempty"`
	Ready    int    `json:"ready,omitempty"`
	// OthersWork is how many threads of other pools work, and may give these results.
	OthersWork int `json:"others_work"`
}

type poolKey struct{ stem, loop string }

type pool struct {
	poolKey
	threads []int
	waiting int
	idle    int
	waitsIn string
	pinned  string
}

func (l *Locks) starvedPools(c Checker) (out []StarvedPool) {
	var groups [][]int
	for _, p := range l.Processes {
		pools := poolsOf(p)
		working := 0
		for _, pool := range pools {
			working += len(pool.threads) - pool.waiting - pool.idle
		}
		for _, pool := range pools {
			s := StarvedPool{PID: p.PID, Pool: pool.name(p), Loop: pool.loop, WaitsIn: pool.waitsIn, Threads: pool.threads,
				PinnedBy: pool.pinned, OthersWork: working}
			if s.PinnedBy != "" {
				s.Ready = readyVirtualThreads(p)
			}
			if pool.waiting == len(pool.threads) && pool.waiting > 0 && (s.WaitsIn != "" || s.Ready > 0) {
				groups, out = append(groups, pool.threads), append(out, s)
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

func (p *pool) name(in *stacks.Process) string {
	name := in.Thread(p.threads[0]).Name
	for _, tid := range p.threads {
		if in.Thread(tid).Name != name {
			return p.stem + "*"
		}
	}
	return name
}

func poolsOf(p *stacks.Process) (out []*pool) {
	byKey := map[poolKey]*pool{}
	for t := range stacks.Each(p.Threads) {
		worker := waits.PoolWorkerOf(t.WaitsFrames())
		if worker.Loop == "" {
			continue
		}
		key := poolKey{strings.TrimRight(t.Name, "0123456789"), worker.Loop}
		if byKey[key] == nil {
			byKey[key] = &pool{poolKey: key}
			out = append(out, byKey[key])
		}
		byKey[key].add(t, worker.Result)
	}
	return out
}

func (p *pool) add(t *stacks.Thread, result string) {
	p.threads = append(p.threads, t.TID)
	if t.WaitsFor == nil || t.State == "R" {
		return
	}
	switch {
	case t.WaitsFor.Mark() != "":
		p.idle++
	case result != "" && !t.WaitsFor.Timed:
		p.waiting++
		p.waitsIn = cmp.Or(p.waitsIn, result)
	case !t.WaitsFor.Timed && t.PinnedBy() != "":
		p.waiting++
		p.pinned = cmp.Or(p.pinned, t.PinnedBy())
	}
}
