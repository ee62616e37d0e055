// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"cmp"
	"slices"

	"prywalk/frames"
	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
)

// GoroutineLock is what goroutines wait for.
type GoroutineLock struct {
	PID int `json:"pid"`
	// Runtime is the file with the goroutines' runtime, where the process has several.
	Runtime string     `json:"runtime,omitempty"`
	Kind    string     `json:"kind"` // sync.Mutex, sync.RWMutex, sync.WaitGroup, sync.Cond, semaphore, chan
	Address schema.Hex `json:"address"`
	Symbol  string     `json:"symbol,omitempty"`
	// Queued is how many values are in a channel, Capacity how many fit.
	Queued   uint64            `json:"queued,omitempty"`
	Capacity uint64            `json:"capacity,omitempty"`
	Closed   bool              `json:"closed,omitempty"`
	Waiters  []GoroutineWaiter `json:"waiters"`
	Likely   []GoroutineOwner  `json:"likely_owners,omitempty"`
}

// GoroutineWaiter is a goroutine that waits.
type GoroutineWaiter struct {
	Goroutine uint64 `json:"goroutine"`
	Wait      string `json:"wait,omitempty"` // in the words of Go's runtime
	// Send means that it waits to send to the channel, not to receive. Reads means that it waits to read.
	Send  bool   `json:"send,omitempty"`
	Reads bool   `json:"reads,omitempty"`
	In    string `json:"in,omitempty"` // the program's function that waits, with its line
}

// GoroutineOwner is a goroutine that likely holds a lock.
type GoroutineOwner struct {
	Goroutine uint64 `json:"goroutine"`
	Reads     bool   `json:"reads,omitempty"`
	Evidence  string `json:"evidence"`
}

// GoroutineCycle is goroutines of which each waits for a lock that the next one likely holds.
type GoroutineCycle struct {
	PID int `json:"pid"`
	// Runtime is the file with their runtime, where the process has several.
	Runtime    string   `json:"runtime,omitempty"`
	Goroutines []uint64 `json:"goroutines"`
}

// GoroutineDeadlock is goroutines that nothing can wake, for one reason.
type GoroutineDeadlock struct {
	PID int `json:"pid"`
	// Runtime is the file with their runtime, where the process has several.
	Runtime string `json:"runtime,omitempty"`
	// Reason is leaked (found by Go's garbage collector), or the wait of a nil channel or of a select without cases.
	Reason  string            `json:"reason"`
	Waiters []GoroutineWaiter `json:"waiters"`
}

// goroutineDeadlocks needs no confirmation: a leaked goroutine stays so until the next search for leaks
// (runtime/mgc.go), and what it waits for is unreachable.
func (l *Locks) goroutineDeadlocks() (out []GoroutineDeadlock) {
	for _, p := range l.Processes {
		for g := range stacks.Each(p.GoroutineStacks) {
			why := waitsForever(g)
			if why == "" {
				continue
			}
			n := slices.IndexFunc(out, func(d GoroutineDeadlock) bool {
				return d.PID == p.PID && d.Runtime == g.Runtime && d.Reason == why
			})
			if n < 0 {
				n, out = len(out), append(out, GoroutineDeadlock{PID: p.PID, Runtime: g.Runtime, Reason: why})
			}
			out[n].Waiters = append(out[n].Waiters, GoroutineWaiter{Goroutine: g.ID, Wait: g.Wait, In: g.OwnPlace()})
		}
	}
	return out
}

// waitsForever returns why nothing can wake a goroutine, or "". By select {} in main a program stays alive; Go 1.27
// does not count it as leaked either (runtime/mgc.go).
func waitsForever(g *stacks.Goroutine) string {
	const noCases = "select (no cases)"
	switch {
	case g.System, g.Status != "waiting" && g.Status != stacks.Leaked, g.ID == 1 && g.Wait == noCases:
	case g.Wait == noCases, g.Wait == "chan receive (nil chan)", g.Wait == "chan send (nil chan)":
		return g.Wait
	case g.Status == stacks.Leaked:
		return g.Status
	}
	return ""
}

type goLockKey struct {
	pid     int
	address frames.Addr
}

func (l *Locks) collectGoroutineLocks() {
	indexes := map[goLockKey]int{}
	for _, p := range l.Processes {
		for g := range stacks.Each(p.GoroutineStacks) {
			if g.System {
				continue
			}
			for _, w := range g.Awaits {
				k := goLockKey{p.PID, w.Address}
				n, ok := indexes[k]
				if !ok {
					n = len(l.GoroutineLocks)
					indexes[k] = n
					l.GoroutineLocks = append(l.GoroutineLocks, GoroutineLock{PID: p.PID, Runtime: g.Runtime, Kind: w.Kind,
						Address: schema.Hex(w.Address), Symbol: w.Symbol, Queued: w.Queued, Capacity: w.Room, Closed: w.Closed})
				}
				lock := &l.GoroutineLocks[n]
				if w.Kind == stacks.KindRWMutex {
					lock.Kind = w.Kind
				}
				lock.Waiters = append(lock.Waiters, GoroutineWaiter{Goroutine: g.ID, Wait: g.Wait, Send: w.Send,
					Reads: w.Reads, In: g.OwnPlace()})
			}
		}
		l.addGoroutineOwners(p, indexes)
	}
	slices.SortStableFunc(l.GoroutineLocks, func(a, b GoroutineLock) int {
		return cmp.Or(rank(a.Kind == stacks.KindChannel)-rank(b.Kind == stacks.KindChannel), len(b.Waiters)-len(a.Waiters),
			cmp.Compare(a.Address, b.Address))
	})
}

func (l *Locks) addGoroutineOwners(p *stacks.Process, indexes map[goLockKey]int) {
	for g := range stacks.Each(p.GoroutineStacks) {
		for _, h := range g.Holds {
			n, ok := indexes[goLockKey{p.PID, h.Address}]
			if !ok {
				continue
			}
			lock := &l.GoroutineLocks[n]
			if !lock.IsLock() {
				continue
			}
			if h.Read {
				lock.Kind = stacks.KindRWMutex
			}
			lock.Likely = append(lock.Likely, GoroutineOwner{Goroutine: g.ID, Reads: h.Read,
				Evidence: "locked in " + h.TakenAt + ", and not unlocked before its current call"})
		}
	}
}

// IsLock reports whether it has an owner, unlike a channel, condition or wait group.
func (lock *GoroutineLock) IsLock() bool {
	return lock.Kind == stacks.KindMutex || lock.Kind == stacks.KindRWMutex
}
