// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"

	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
)

// threadList has the threads of a process, and decides when to list them (/proc/PID/task).
type threadList struct {
	byTID    map[int]*thread
	inOrder  []*thread // of their discovery; ended ones until the next listing
	rejected map[int]rejected

	// Of the last listing:
	tids       []int
	listedAt   int64  // CLOCK_MONOTONIC ns; 0 if the next one is due
	cpu        uint64 // the process's clock then, ns
	generation int64  // its number
	everListed bool

	changeHinted    bool // threads have begun or ended since
	firstThreadName procmem.Comm
}

// rejected is a thread that is not tracked because of its name.
type rejected struct {
	since int64 // CLOCK_MONOTONIC ns
	again int64 // when its name is read again, as it may be set late, CLOCK_MONOTONIC ns
	old   bool  // it is older than the recording
}

// In ns: the intervals of listings without a hint at a change, usual, and while the process does not run. The kernel
// goes through all threads to list them, listCost each. This takes at most one part in listShare of the time; listings
// without a hint a fourth of that, for all processes together.
const (
	listEvery = 50e6
	listIdle  = 1e9
	listCost  = 500
	listShare = 128
)

// due reports whether to list the threads. all is the number of threads of all processes.
func (list *threadList) due(now int64, clock *engine.Clock, all int) bool {
	if list.listedAt == 0 {
		return true
	}
	since := now - list.listedAt
	if !list.changeHinted && clock.Valid && clock.Now == list.cpu && since < listIdle {
		return false
	}
	const apart = listCost * listShare
	if list.changeHinted && since >= int64(len(list.tids))*apart {
		return true
	}
	return since >= max(listEvery, 4*apart*int64(max(all, len(list.tids))))
}

// makeDue makes the next listing due.
func (list *threadList) makeDue() { list.listedAt = 0 }

// hintChange records that threads have begun or ended since the last listing.
func (list *threadList) hintChange() { list.changeHinted = true }

// begin begins a listing. cpu is the process's clock, ns.
func (list *threadList) begin(now int64, cpu uint64) {
	list.listedAt = now
	list.cpu = cpu
	list.changeHinted = false
	list.generation++
}

// add adds a thread that a listing has, or one at the list's end.
func (list *threadList) add(th *thread) {
	th.listGeneration = list.generation
	list.byTID[th.Observed.TID] = th
	list.inOrder = append(list.inOrder, th)
	delete(list.rejected, th.Observed.TID)
}

// fromZero reports whether a thread that is found now began within the recording.
func (list *threadList) fromZero(tid int) bool { return list.everListed && !list.rejected[tid].old }

// remove removes an ended thread. It stays in inOrder until the next listing.
func (list *threadList) remove(th *thread) {
	th.gone = true
	delete(list.byTID, th.Observed.TID)
	list.hintChange()
}

func (list *threadList) reject(tid int, now int64) {
	if list.rejected == nil {
		list.rejected = map[int]rejected{}
	}
	entry := list.rejected[tid]
	if entry.since == 0 {
		entry.since, entry.old = now, !list.everListed
	}
	entry.again = now + min(now-entry.since, handover.NameEvery)
	list.rejected[tid] = entry
}

// rejects reports whether a thread was rejected, and its name is not read again yet.
func (list *threadList) rejects(tid int, now int64) bool { return now < list.rejected[tid].again }

func (list *threadList) forgetRejected(tids []int) {
	if len(list.rejected)+len(list.byTID) <= len(tids) { // all are listed
		return
	}
	slices.Sort(tids) // the kernel's order is not needed any more
	for tid := range list.rejected {
		if _, there := slices.BinarySearch(tids, tid); !there {
			delete(list.rejected, tid)
		}
	}
}

func (list *threadList) knows(tid int) bool {
	if list.byTID[tid] != nil {
		return true
	}
	_, rejected := list.rejected[tid]
	return rejected
}

// addListed records that the process's list has a thread, which began since it was read.
func (list *threadList) addListed(tid int) { list.tids = append(list.tids, tid) }
