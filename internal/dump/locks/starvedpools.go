// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"cmp"
	"strings"

	"prywalk/internal/dump/stacks"
	"prywalk/internal/waits"
)

// Starved is a pool whose threads all wait for results of tasks. If these are queued in this pool, no thread is left to
// run them; stacks do not show the queue.
type Starved struct {
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

type poolKey struct{ name, loop string }

type pool struct {
	poolKey
	threads []int
	waiting int
	idle    int
	in      string
}

func (l *Locks) starvedPools() (out []Starved) {
	for _, p := range l.Processes {
		pools := poolsOf(p)
		working := 0
		for _, k := range pools {
			working += len(k.threads) - k.waiting - k.idle
		}
		for _, k := range pools {
			if k.waiting == len(k.threads) && k.waiting > 0 {
				out = append(out, Starved{p.PID, poolName(p, k), k.loop, k.in, k.threads, working})
			}
		}
	}
	return out
}

// poolName returns the threads' name, or its common part and a star.
func poolName(p *stacks.Process, k *pool) string {
	name := p.Thread(k.threads[0]).Name
	for _, tid := range k.threads {
		if p.Thread(tid).Name != name {
			return k.name + "*"
		}
	}
	return name
}

func poolsOf(p *stacks.Process) (out []*pool) {
	at := map[poolKey]*pool{}
	for i := range p.Threads {
		t := &p.Threads[i]
		w := waits.WorkOf(t.WaitsFrame)
		if w.Loop == "" {
			continue
		}
		key := poolKey{stemOf(t.Name), w.Loop}
		k := at[key]
		if k == nil {
			k = &pool{poolKey: key}
			at[key], out = k, append(out, k)
		}
		k.threads = append(k.threads, t.TID)
		asleep := t.WaitsFor != nil && t.State != "R"
		switch {
		case asleep && t.WaitsFor.Idle != "":
			k.idle++
		case asleep && w.Result != "" && !t.WaitsFor.Timed:
			k.waiting++
			k.in = cmp.Or(k.in, w.Result)
		}
	}
	return out
}

func stemOf(name string) string { return strings.TrimRight(name, "0123456789") }
