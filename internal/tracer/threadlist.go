// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
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

	// Set by the last listing:
	tids       []int
	listedAt   int64  // CLOCK_MONOTONIC ns; 0 if the next one is due
	clockThen  uint64 // the process's clock, ns
	generation int64  // its number
	startKnown bool

	changeHinted    bool // threads have begun or ended since the last listing
	firstThreadName procmem.Comm
}

// rejected is a thread that is not tracked because of its name.
type rejected struct {
	since   int64 // CLOCK_MONOTONIC ns
	retryAt int64 // when its name is read again, as it may be set late, CLOCK_MONOTONIC ns
	old     bool  // it is older than the recording
}

const (
	listEvery = 50e6 // between listings without a hint at a change, ns
	listIdle  = 1e9  // the same, of a process that does not run, ns
	listCost  = 500  // the kernel goes through all threads to list them, for each ns
	// listShare: listings take at most one part in it of the time; those without a hint a fourth of that, for all
	// processes together.
	listShare = 128
)

// newThreadList returns a list without threads. fromStart: all began within the recording.
func newThreadList(fromStart bool) threadList {
	return threadList{byTID: map[int]*thread{}, startKnown: fromStart}
}

func (list *threadList) thread(tid int) *thread { return list.byTID[tid] }

func (list *threadList) len() int { return len(list.byTID) }

// all returns the tracked threads, and those that have ended since the last listing.
func (list *threadList) all() []*thread { return list.inOrder }

// listed returns the number of threads of the last listing, tracked or not.
func (list *threadList) listed() int { return len(list.tids) }

// knowsStart reports whether the threads of the start of the recording are known: the threads were listed once, or all
// began within the recording.
func (list *threadList) knowsStart() bool { return list.startKnown }

// due reports whether to list the threads. clock is the process's, allThreads the number of threads of all processes.
func (list *threadList) due(now int64, clock *engine.Clock, allThreads int) bool {
	if list.listedAt == 0 {
		return true
	}
	since := now - list.listedAt
	idle := clock.Valid && clock.Now == list.clockThen
	if !list.changeHinted && idle && since < listIdle {
		return false
	}
	const apart = listCost * listShare
	if list.changeHinted && since >= int64(len(list.tids))*apart {
		return true
	}
	return since >= max(listEvery, 4*apart*int64(max(allThreads, len(list.tids))))
}

func (list *threadList) makeDue() { list.listedAt = 0 }

// hintChange records that threads have begun or ended since the last listing.
func (list *threadList) hintChange() { list.changeHinted = true }

// read begins a listing: it returns the threads in the kernel's order. cpu is the process's clock, ns.
func (list *threadList) read(dir *procmem.TaskDir, now int64, cpu uint64) (tids []int, err error) {
	list.listedAt = now
	list.clockThen = cpu
	list.changeHinted = false
	list.generation++
	list.tids, err = dir.List(list.tids[:0])
	return list.tids, err
}

func (list *threadList) mark(th *thread) { th.listGeneration = list.generation }

func (list *threadList) lacks(th *thread) bool { return th.listGeneration != list.generation }

// end ends a listing: ended threads are dropped.
func (list *threadList) end() {
	list.inOrder = slices.DeleteFunc(list.inOrder, func(th *thread) bool { return th.gone })
	list.startKnown = true
}

// setFirstName sets the name of the first thread, and reports whether it had another.
func (list *threadList) setFirstName(name *procmem.Comm) (renamed bool) {
	last := list.firstThreadName.Bytes()
	renamed = len(last) > 0 && !bytes.Equal(name.Bytes(), last)
	list.firstThreadName = *name
	return renamed
}

// add adds a thread that a listing has, or one at the list's end.
func (list *threadList) add(th *thread) {
	list.mark(th)
	list.byTID[th.Observed.TID] = th
	list.inOrder = append(list.inOrder, th)
	delete(list.rejected, th.Observed.TID)
}

// fromZero reports whether a thread that is found now began within the recording.
func (list *threadList) fromZero(tid int) bool { return list.startKnown && !list.rejected[tid].old }

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
		entry.since, entry.old = now, !list.startKnown
	}
	entry.retryAt = now + min(now-entry.since, handover.NameEvery)
	list.rejected[tid] = entry
}

// rejects reports whether a thread was rejected, and its name is not read again yet.
func (list *threadList) rejects(tid int, now int64) bool { return now < list.rejected[tid].retryAt }

// forgetAllRejected has the names of all threads read again.
func (list *threadList) forgetAllRejected() { clear(list.rejected) }

// forgetRejected forgets the rejected threads that a listing lacks.
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
