// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"slices"

	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
)

// threadList decides when to list the threads of a process (/proc/PID/task).
type threadList struct {
	byTID    map[int]*thread
	inOrder  []*thread // with those ended since the last listing
	rejected map[int]rejected

	// of the last listing:
	tids       []int
	listedAt   int64  // CLOCK_MONOTONIC ns; 0: the next one is due
	clockThen  uint64 // ns
	generation int64
	startKnown bool

	changeHinted    bool // since the last listing
	firstThreadName procmem.Comm
}

// rejected is a thread that is not selected by its name.
type rejected struct {
	since   int64 // CLOCK_MONOTONIC ns
	retryAt int64 // a name may be set late; CLOCK_MONOTONIC ns
	old     bool  // older than the recording
}

const (
	listEvery = 50e6 // ns, without a hint
	listIdle  = 1e9  // ns, of an idle process
	listCost  = 500  // ns of the kernel for each thread
	// Listings of a process take at most 1/listShare of the time; without a hint, those of all together a fourth of that.
	listShare = 128
)

// newThreadList returns an empty list. fromStart: all threads began within the recording.
func newThreadList(fromStart bool) threadList {
	return threadList{byTID: map[int]*thread{}, startKnown: fromStart}
}

func (list *threadList) thread(tid int) *thread { return list.byTID[tid] }

func (list *threadList) len() int { return len(list.byTID) }

// all includes the threads that have ended since the last listing.
func (list *threadList) all() []*thread { return list.inOrder }

// listed is the number of threads of the last listing, tracked or not.
func (list *threadList) listed() int { return len(list.tids) }

// knowsStart reports whether the threads at the start of the recording are known.
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

func (list *threadList) hintChange() { list.changeHinted = true }

// read begins a listing, and returns the threads in the kernel's order. cpu is the process's clock, ns.
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

func (list *threadList) finishListing() {
	list.inOrder = slices.DeleteFunc(list.inOrder, func(th *thread) bool { return th.Backoff.Gone })
	list.startKnown = true
}

func (list *threadList) setFirstName(name *procmem.Comm) (renamed bool) {
	last := list.firstThreadName.Bytes()
	renamed = len(last) > 0 && !bytes.Equal(name.Bytes(), last)
	list.firstThreadName = *name
	return renamed
}

func (list *threadList) add(th *thread) {
	list.mark(th)
	list.byTID[th.Observed.TID] = th
	list.inOrder = append(list.inOrder, th)
	delete(list.rejected, th.Observed.TID)
}

// fromZero reports whether a thread that is found now began within the recording.
func (list *threadList) fromZero(tid int) bool { return list.startKnown && !list.rejected[tid].old }

// remove removes a gone thread, which stays in inOrder until the next listing.
func (list *threadList) remove(th *thread) {
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

func (list *threadList) forgetAllRejected() { clear(list.rejected) }

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

func (list *threadList) addListed(tid int) { list.tids = append(list.tids, tid) }
