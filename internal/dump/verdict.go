// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"prywalk/internal/look"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
)

// Verdict says what is known of deadlocks among the threads that were looked at.
type Verdict string

// The verdicts, the worst first.
const (
	// VerdictDeadlock: one is proven.
	VerdictDeadlock Verdict = "deadlock"
	// VerdictPossible: a cycle has an owner that is likely, or a pool is possibly starved.
	VerdictPossible Verdict = "possible"
	// VerdictUnknown: threads wait for what no owner is known of, or goroutines may, which are not looked at.
	VerdictUnknown Verdict = "unknown"
	// VerdictNone: each thread that waits for a lock waits for a known owner, and there is no cycle.
	VerdictNone Verdict = "none"
)

// LikelyOwner is a thread that likely holds a lock which stores no owner.
type LikelyOwner struct {
	TID int `json:"tid"`
	// Evidence is what shows it.
	Evidence string `json:"evidence"`
}

// likelyOwners finds the likely owners of the locks that store none: threads whose frames are inside of the lock's
// block.
func (l *Locks) likelyOwners() {
	for i := range l.Locks {
		m := &l.Locks[i]
		if m.Owner != 0 || m.Free {
			continue
		}
		for _, p := range l.Processes {
			if p.PID == m.PID {
				m.Likely = append(m.Likely, p.inside(uint64(m.Address))...)
			}
		}
	}
}

// inside finds the threads that are inside of the block of a lock.
func (p *Process) inside(word uint64) (out []LikelyOwner) {
	for i := range p.Threads {
		t := &p.Threads[i]
		for _, h := range t.holds {
			if h.Word == word && word != 0 {
				at := Frame{Place: &Place{Function: h.Function, File: h.File, Line: h.Line}}
				out = append(out, LikelyOwner{t.TID, "inside of \"with\" of this " + h.Class + ", in " + at.location()})
				break
			}
		}
	}
	return out
}

// possible gives the cycles through owners of which some are only likely.
func (l *Locks) possible() (out [][]int) {
	g := l.graph()
	likely := map[int]bool{}
	for i := range l.Locks {
		m := &l.Locks[i]
		if len(m.Likely) != 1 {
			continue
		}
		for _, tid := range m.Waiters {
			if t, _ := l.find(tid); t != nil && !t.WaitsFor.Timed {
				g[tid], likely[tid] = m.Likely[0].TID, true
			}
		}
	}
	for _, c := range waits.Cycles(g) {
		if slices.ContainsFunc(c, func(tid int) bool { return likely[tid] }) {
			out = append(out, c)
		}
	}
	return out
}

// possible finds these cycles, and keeps those of which no thread runs for a while.
func (l *lockLook) possible() {
	cycles := l.out.possible()
	if len(cycles) == 0 {
		return
	}
	first := map[int]uint64{}
	for _, c := range cycles {
		l.asleep(c, first)
	}
	time.Sleep(watchFor)
	for _, c := range cycles {
		second := map[int]uint64{}
		l.asleep(c, second)
		if len(second) == len(c) && !slices.ContainsFunc(c, func(tid int) bool { return first[tid] != second[tid] }) {
			l.out.Possible = append(l.out.Possible, c)
		}
	}
}

// asleep fills in the run counts of threads that still sleep in the call that they were found in.
func (l *lockLook) asleep(tids []int, runs map[int]uint64) {
	for _, tid := range tids {
		k := l.at[tid]
		if k == nil {
			continue
		}
		sl := k.process.slept[tid]
		s := l.shot(k, tid, nil, look.OnlyPeek)
		if sl != nil && s != nil && s.State != sample.Running && s.Wait() == sl.Wait && s.Call.Args == sl.Args {
			runs[tid] = s.Sched.Runs
		}
	}
}

// judge gives the verdict, when all else is known.
func (l *Locks) judge() {
	l.starved()
	known := l.known()
	for _, p := range l.Processes {
		if p.isGo() {
			l.Go = append(l.Go, p.PID)
		}
		for i := range p.Threads {
			t := &p.Threads[i]
			if w := t.WaitsFor; w != nil && w.Idle == "" && !w.Free && w.Owner == 0 && w.Kind.IsLock() && !known[t.TID] {
				l.OwnerUnknown = append(l.OwnerUnknown, t.TID)
			}
		}
	}
	switch {
	case len(l.Deadlocks) > 0:
		l.Verdict = VerdictDeadlock
	case len(l.Possible) > 0 || len(l.Starved) > 0:
		l.Verdict = VerdictPossible
	case len(l.OwnerUnknown)+len(l.Go) > 0:
		l.Verdict = VerdictUnknown
	default:
		l.Verdict = VerdictNone
	}
}

// isGo reports whether threads of a process run Go's scheduler.
func (p *Process) isGo() bool {
	for i := range p.Threads {
		for j := range p.Threads[i].Frames[:min(len(p.Threads[i].Frames), mostAsked)] {
			switch p.Threads[i].Frames[j].Function {
			case "runtime.mstart", "runtime.mcall", "runtime.goexit", "runtime.schedule":
				return true
			}
		}
	}
	return false
}

// known gives the threads that wait for a lock whose owner was found, or which was passed on while it was looked at.
func (l *Locks) known() map[int]bool {
	out := map[int]bool{}
	for i := range l.Locks {
		if m := &l.Locks[i]; m.Owner != 0 || m.Free || m.Why == passing {
			for _, tid := range m.Waiters {
				out[tid] = true
			}
		}
	}
	return out
}

// Starved is a pool whose threads all wait for results of tasks. If these are queued in this pool, none of its threads
// is left to run them; in which pool they are queued, stacks do not show.
type Starved struct {
	PID int `json:"pid"`
	// Pool is what the names of its threads have in common, Loop the function that runs its tasks.
	Pool string `json:"pool"`
	Loop string `json:"loop"`
	// WaitsIn is the function in which they wait for results.
	WaitsIn string `json:"waits_in"`
	Threads []int  `json:"threads"`
	// OthersWork is how many threads of other pools work, and may give these results.
	OthersWork int `json:"others_work"`
}

// mostAsked is how many frames of a stack are asked what their functions are; a recursion has a million.
const mostAsked = 512

// poolKey tells pools apart.
type poolKey struct{ name, loop string }

// pool is a pool's threads, of which some wait for results.
type pool struct {
	poolKey
	threads []int
	waiting int
	idle    int
	in      string
}

// starved finds the pools all of whose threads wait for results.
func (l *Locks) starved() {
	for _, p := range l.Processes {
		pools := p.pools()
		working := 0
		for _, k := range pools {
			working += len(k.threads) - k.waiting - k.idle
		}
		for _, k := range pools {
			if k.waiting == len(k.threads) && k.waiting > 0 {
				l.Starved = append(l.Starved, Starved{p.PID, p.poolName(k), k.loop, k.in, k.threads, working})
			}
		}
	}
}

// poolName is what the names of a pool's threads have in common, with a star where they differ.
func (p *Process) poolName(k *pool) string {
	name := p.thread(k.threads[0]).Name
	for _, tid := range k.threads {
		if p.thread(tid).Name != name {
			return k.name + "*"
		}
	}
	return name
}

// pools gathers the workers of a process's pools.
func (p *Process) pools() (out []*pool) {
	at := map[poolKey]*pool{}
	for i := range p.Threads {
		t := &p.Threads[i]
		w := waits.WorkOf(t.frame)
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

// frame gives a frame of a thread's stack for [waits]; false at its end.
func (t *Thread) frame(i int) (waits.Frame, bool) {
	if i >= len(t.Frames) {
		return waits.Frame{}, false
	}
	return waits.Frame{Function: t.Frames[i].Function, Module: t.Frames[i].Module, File: t.Frames[i].File}, true
}

// stemOf is a thread's name without the number at its end.
func stemOf(name string) string { return strings.TrimRight(name, "0123456789") }
