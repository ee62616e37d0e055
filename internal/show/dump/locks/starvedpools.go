// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"cmp"
	"slices"
	"strings"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// StarvedPool is a pool whose threads all wait for results of tasks. If these are queued in this pool, no thread is
// left to run them; stacks do not show the queue.
type StarvedPool struct {
	PID int `json:"pid"`
	// Pool is the common part of its threads' names, Loop the function that runs its tasks.
	Pool string `json:"pool"`
	Loop string `json:"loop"`
	// WaitsIn is the function in which they wait for results.
	WaitsIn string `json:"waits_in"`
	Threads []int  `json:"threads"`
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
			if pool.waiting == len(pool.threads) && pool.waiting > 0 {
				groups = append(groups, pool.threads)
				out = append(out, StarvedPool{p.PID, pool.name(p), pool.loop, pool.waitsIn, pool.threads, working})
			}
		}
	}
	asleep := c.ConfirmAsleep(groups)
	return slices.DeleteFunc(out, func(s StarvedPool) bool {
		return !slices.ContainsFunc(asleep, func(tids []int) bool { return tids[0] == s.Threads[0] })
	})
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
	}
}
