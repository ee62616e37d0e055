// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"slices"
	"strings"
)

// Ownership is the owner of a lock that is waited for, or why that is not known.
type Ownership struct {
	// Owner is the thread that holds the lock, or whose end is waited for, as an ID in prywalk's pid namespace; 0 means
	// unknown.
	Owner int `json:"owner,omitempty"`
	// OwnerTask is the number of the virtual thread that holds the lock, or 0 if there is none.
	OwnerTask uint64 `json:"owner_task,omitempty"`
	// OwnerName is the name of the owner, or of OwnerProcess.
	OwnerName string `json:"owner_name,omitempty"`
	// OwnerGone is the ID in the lock, as the target sees it, of an owner that is no live thread of the process: it has
	// ended, or was another process's, from which this one was forked.
	OwnerGone int `json:"owner_gone,omitempty"`
	// OwnerParent is the parent process, if OwnerGone is a live thread of it, which took the lock before the fork: no
	// thread of this process holds it. It is 0 if there is none.
	OwnerParent int `json:"owner_parent,omitempty"`
	// OwnerProcess is the process that took a file lock; 0 means unknown. A process that it started may hold the lock,
	// too.
	OwnerProcess int `json:"owner_process,omitempty"`
	// Free reports that no owner was stored when the lock was read, or that its waiters had gone on. It is false for a
	// free rwlock, and for a taken mutex whose owner is not stored yet: Why says so.
	Free bool `json:"free,omitempty"`
	// Readers is the number of a rwlock's read locks.
	Readers int `json:"readers,omitempty"`
	// Why is the reason why no owner is named.
	Why string `json:"why,omitempty"`

	ownerInnerTID int  // in the target's pid namespace, until [Wait.ResolveOwner]
	shared        bool // the owner may be a thread of another process
	ownerOutside  int  // ID in a shared lock of an unobserved or ended thread
}

// NameOwnerOutside puts a shared lock's owner into Why if it is no thread of the observed processes.
func (o *Ownership) NameOwnerOutside() {
	if o.ownerOutside != 0 {
		o.Why = fmt.Sprintf("held by thread %d of another process, or of one that has ended", o.ownerOutside)
	}
}

// EndedOwnerText describes OwnerGone.
func (o *Ownership) EndedOwnerText() string {
	if o.OwnerParent != 0 {
		return fmt.Sprintf("taken by thread %d of the parent process %d before the fork", o.OwnerGone, o.OwnerParent)
	}
	return fmt.Sprintf("taken by thread %d, which has ended", o.OwnerGone)
}

// OwnerProcessText describes OwnerProcess.
func (o *Ownership) OwnerProcessText() string {
	return strings.TrimRight(fmt.Sprintf("taken by process %d %s", o.OwnerProcess, o.OwnerName), " ")
}

const whyFreeOrChanging = "free or changing owner when read"

// setOwnerWord sets the owner from the bits FUTEX_TID_MASK of word.
func (o *Ownership) setOwnerWord(word uint32) {
	o.ownerInnerTID = int(word & futexTIDMask)
	o.Free = o.ownerInnerTID == 0
	switch {
	case !o.Free:
	case word&futexOwnerDied != 0:
		o.Why = "its owner ended without unlocking it"
	default:
		o.Why = whyFreeOrChanging
	}
}

// ThreadFinder finds live threads of the observed processes.
type ThreadFinder interface {
	// Thread returns the ID in prywalk's pid namespace of the live thread with ID innerTID in the waiter's. shared
	// permits threads of other observed processes.
	Thread(innerTID int, shared bool) (tid int, ok bool)
	// Parent returns the waiter's parent process if a live thread of it has the ID innerTID, else 0. A fork copies
	// locks that other threads hold, but not these threads (fork(2)).
	Parent(innerTID int) (pid int)
}

// ResolveOwner replaces the ID in the lock by a live thread's; a wait of unknown kind for one is a join. A waiter that
// is its own owner has locked a normal mutex twice: a deadlock.
func (w *Wait) ResolveOwner(t ThreadFinder) {
	if w.ownerInnerTID == 0 {
		return
	}
	inner, unknown := w.ownerInnerTID, w.Kind == Futex
	w.ownerInnerTID = 0
	tid, ok := t.Thread(inner, w.shared && !unknown)
	switch {
	case ok && unknown:
		w.Kind, w.Owner, w.Why = Join, tid, ""
	case ok:
		w.Owner = tid
	case w.shared && !unknown:
		w.Why, w.ownerOutside = "held by another process, or by a thread that has ended", inner
	case w.Kind != Join && !unknown:
		w.OwnerGone, w.OwnerParent = inner, t.Parent(inner)
	}
}

// Cycles returns the sorted cycles of a map of threads to those that they wait for. Each begins with its lowest ID.
func Cycles(waitsFor map[int]int) (out [][]int) {
	const onPath, done = 1, 2
	state := make(map[int]int, len(waitsFor))
	for start := range waitsFor {
		var path []int
		at := start
		for state[at] == 0 {
			next, ok := waitsFor[at]
			if !ok {
				break
			}
			state[at] = onPath
			path = append(path, at)
			at = next
		}
		if i := slices.Index(path, at); i >= 0 {
			out = append(out, fromLowest(path[i:]))
		}
		for _, tid := range path {
			state[tid] = done
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return a[0] - b[0] })
	return out
}

func fromLowest(cycle []int) []int {
	i := slices.Index(cycle, slices.Min(cycle))
	return slices.Concat(cycle[i:], cycle[:i])
}
