// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"prywalk/internal/observe"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
)

// Verdict is what is known of deadlocks among the sampled threads.
type Verdict string

// The verdicts, worst first.
const (
	// VerdictDeadlock means that a deadlock is proven.
	VerdictDeadlock Verdict = "deadlock"
	// VerdictPossible means a cycle with a likely owner, or a possibly starved pool.
	VerdictPossible Verdict = "possible"
	// VerdictUnknown means waits without a known owner, threads whose waits are not known, or goroutines not examined.
	VerdictUnknown Verdict = "unknown"
	// VerdictNone means that there is no cycle, and that each wait that is not idle has a known owner, or its lock was
	// free or changed hands.
	VerdictNone Verdict = "none"
)

// LikelyOwner is a thread that likely holds a lock which stores no owner.
type LikelyOwner struct {
	TID int `json:"tid"`
	// Evidence is what shows it.
	Evidence string `json:"evidence"`
}

// likelyOwners finds threads with frames within a lock's block.
func (l *Locks) likelyOwners() {
	for i := range l.Locks {
		m := &l.Locks[i]
		if m.Owner != 0 || m.Free {
			continue
		}
		for _, p := range l.Processes {
			if p.PID == m.PID {
				likely, class := p.inside(uint64(m.Address))
				m.Likely = append(m.Likely, likely...)
				if m.Kind == waits.Semaphore && class != "" { // more than the symbols of an interpreter may say
					m.Type = class
				}
			}
		}
	}
}

// inside gives the threads inside of the block of the lock with that word, and its class.
func (p *Process) inside(word uint64) (out []LikelyOwner, class string) {
	for i := range p.Threads {
		t := &p.Threads[i]
		for _, h := range t.holds {
			if h.Word == word && word != 0 {
				class = h.Class
				at := Frame{Place: &Place{Function: h.Function, File: h.File, Line: h.Line}}
				out = append(out, LikelyOwner{t.TID, "inside of \"with\" of this " + h.Class + ", in " + at.location()})
				break
			}
		}
	}
	return out, class
}

// possible gives the cycles with likely owners.
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

// possible keeps cycles whose threads do not run.
func (l *lockExam) possible() {
	cycles := l.out.possible()
	if len(cycles) == 0 {
		return
	}
	first := map[int]uint64{}
	for _, c := range cycles {
		l.noteAsleep(c, first)
	}
	time.Sleep(watchFor)
	for _, c := range cycles {
		second := map[int]uint64{}
		l.noteAsleep(c, second)
		if len(second) == len(c) && !slices.ContainsFunc(c, func(tid int) bool { return first[tid] != second[tid] }) {
			l.out.Possible = append(l.out.Possible, c)
		}
	}
}

// noteAsleep sets the run counts of threads still in the same call.
func (l *lockExam) noteAsleep(tids []int, runs map[int]uint64) {
	for _, tid := range tids {
		k := l.byThread[tid]
		if k == nil {
			continue
		}
		sl := k.process.slept[tid]
		s := l.raw(k, tid, nil, observe.ModePassiveOnly)
		if sl != nil && s != nil && s.State != sample.Running && s.WaitReason() == sl.Wait && s.Call.Args == sl.Args {
			runs[tid] = s.Sched.Runs
		}
	}
}

func (l *Locks) judge() {
	l.starved()
	known := l.atKnownLocks()
	l.GIL = l.gilCycles()
	for _, p := range l.Processes {
		l.Unread += p.unread()
		if p.isGo() {
			l.Go = append(l.Go, p.PID)
		}
		for i := range p.Threads {
			t := &p.Threads[i]
			if w := t.WaitsFor; w != nil && w.Idle == "" && !w.Free && w.Owner == 0 && w.Kind.IsSynchronization() &&
				!known[t.TID] {
				l.OwnerUnknown = append(l.OwnerUnknown, t.TID)
			}
		}
	}
	switch {
	case len(l.Deadlocks) > 0:
		l.Verdict = VerdictDeadlock
	case len(l.Possible) > 0 || len(l.Starved) > 0 || len(l.PossibleGoroutines) > 0:
		l.Verdict = VerdictPossible
	case len(l.OwnerUnknown)+len(l.Go)+len(l.GIL)+l.Unread > 0:
		l.Verdict = VerdictUnknown
	default:
		l.Verdict = VerdictNone
	}
}

// unread counts the threads whose waits are not known: they could not be read, or a signal has stopped them.
func (p *Process) unread() (n int) {
	for reason, failed := range p.Failed {
		if !slices.Contains(waitForNothing, reason) {
			n += int(failed)
		}
	}
	for i := range p.Threads {
		if strings.EqualFold(p.Threads[i].State, "T") {
			n++
		}
	}
	return n
}

// waitForNothing are the reasons of failed threads that have ended or run.
var waitForNothing = []string{
	refusal.Gone.Word(), refusal.Zombie.Word(), refusal.MaxPause.Word(), refusal.Running.Word(),
}

// gilCycles gives the cycles through the lock of an interpreter. Its waiters wake every few milliseconds, so no reading
// finds that none of the threads has run.
func (l *Locks) gilCycles() (out [][]int) {
	g, atGIL := l.graph(), map[int]bool{}
	for _, p := range l.Processes {
		for i := range p.Threads {
			if t := &p.Threads[i]; t.WaitsFor != nil && t.WaitsFor.Kind == waits.GIL && t.WaitsFor.Owner != 0 {
				g[t.TID], atGIL[t.TID] = t.WaitsFor.Owner, true
			}
		}
	}
	for _, c := range waits.Cycles(g) {
		if slices.ContainsFunc(c, func(tid int) bool { return atGIL[tid] }) {
			out = append(out, c)
		}
	}
	return out
}

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

// atKnownLocks gives the threads at locks whose owner was found or changed.
func (l *Locks) atKnownLocks() map[int]bool {
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

// Starved is a pool whose threads all wait for results of tasks. If these are queued in this pool, no thread is left
// to run them; stacks do not show in which pool they are queued.
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

// mostAsked bounds the examined frames of a stack.
const mostAsked = 512

type poolKey struct{ name, loop string }

type pool struct {
	poolKey
	threads []int
	waiting int
	idle    int
	in      string
}

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

// poolName is the common part of the names, with a star for differences.
func (p *Process) poolName(k *pool) string {
	name := p.thread(k.threads[0]).Name
	for _, tid := range k.threads {
		if p.thread(tid).Name != name {
			return k.name + "*"
		}
	}
	return name
}

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

func (t *Thread) frame(i int) (waits.Frame, bool) {
	if i >= len(t.Frames) {
		return waits.Frame{}, false
	}
	return waits.Frame{Function: t.Frames[i].Function, Module: t.Frames[i].Module, File: t.Frames[i].File}, true
}

func stemOf(name string) string { return strings.TrimRight(name, "0123456789") }
