// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"
	"time"

	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"
)

// ThreadList decides when to list the threads of a process (/proc/PID/task).
type ThreadList struct {
	byTID    map[int]*Thread
	inOrder  []*Thread // with those ended since the last listing
	rejected map[int]rejected

	// These are of the last listing.
	tids       []int
	listedAt   monotonic.Moment // 0 means that the next one is due
	clockThen  time.Duration
	generation int64
	startKnown bool

	changeHinted bool   // since the last listing
	firstName    string // the first thread's
}

// rejected is a thread that is not selected by its name.
type rejected struct {
	since   monotonic.Moment
	retryAt monotonic.Moment // a name may be set late
	old     bool             // older than the recording
}

const (
	listEvery = 50 * time.Millisecond // without a hint
	listIdle  = time.Second           // of an idle process
	listCost  = 500 * time.Nanosecond // of the kernel for each thread
	// Listings of a process take at most 1/listShare of the time; without a hint, those of all together a fourth of that.
	listShare = 128
)

// NewThreadList returns an empty list. fromStart means that all threads began within the recording. name is the first
// thread's, "" if it was not read: a program can give itself another one before it is read again.
func NewThreadList(fromStart bool, name string) ThreadList {
	return ThreadList{byTID: map[int]*Thread{}, startKnown: fromStart, firstName: name}
}

// Of returns the thread with a number, or nil if it is not tracked.
func (list *ThreadList) Of(tid int) *Thread { return list.byTID[tid] }

// Len returns the number of tracked threads.
func (list *ThreadList) Len() int { return len(list.byTID) }

// All includes the threads that have ended since the last listing.
func (list *ThreadList) All() []*Thread { return list.inOrder }

// Listed is the number of threads of the last listing, tracked or not.
func (list *ThreadList) Listed() int { return len(list.tids) }

// KnowsStart reports whether the threads at the start of the recording are known.
func (list *ThreadList) KnowsStart() bool { return list.startKnown }

// Due reports whether to list the threads. clock is the process's, allThreads the number of threads of all processes.
func (list *ThreadList) Due(now monotonic.Moment, clock *Clock, allThreads int) bool {
	if list.listedAt == 0 {
		return true
	}
	since := now.Sub(list.listedAt)
	idle := clock.Valid && clock.Now == list.clockThen
	if !list.changeHinted && idle && since < listIdle {
		return false
	}
	const apart = listCost * listShare
	if list.changeHinted && since >= time.Duration(len(list.tids))*apart {
		return true
	}
	return since >= max(listEvery, 4*apart*time.Duration(max(allThreads, len(list.tids))))
}

// MakeDue makes the next listing due.
func (list *ThreadList) MakeDue() { list.listedAt = 0 }

// HintChange notes that the list may have changed.
func (list *ThreadList) HintChange() { list.changeHinted = true }

// Read begins a listing, and returns the threads in the kernel's order. cpu is the process's clock.
func (list *ThreadList) Read(dir *procmem.TaskDir, now monotonic.Moment, cpu time.Duration) (tids []int, err error) {
	list.listedAt = now
	list.clockThen = cpu
	list.changeHinted = false
	list.generation++
	list.tids, err = dir.List(list.tids[:0])
	return list.tids, err
}

// Mark notes that the last listing has the thread.
func (list *ThreadList) Mark(th *Thread) { th.listGeneration = list.generation }

// Lacks reports whether the last listing lacks the thread.
func (list *ThreadList) Lacks(th *Thread) bool { return th.listGeneration != list.generation }

// FinishListing drops the threads that have ended.
func (list *ThreadList) FinishListing() {
	list.inOrder = slices.DeleteFunc(list.inOrder, func(th *Thread) bool { return th.Gone })
	list.startKnown = true
}

// SetFirstName sets the first thread's name, and reports whether it has changed.
func (list *ThreadList) SetFirstName(name *procmem.Comm) (renamed bool) {
	if string(name.Bytes()) == list.firstName { // no allocation
		return false
	}
	renamed = list.firstName != ""
	list.firstName = name.String()
	return renamed
}

// Add adds a thread that is tracked from now on.
func (list *ThreadList) Add(th *Thread) {
	list.Mark(th)
	list.byTID[th.TID] = th
	list.inOrder = append(list.inOrder, th)
	delete(list.rejected, th.TID)
}

// FromZero reports whether a thread that is found now began within the recording.
func (list *ThreadList) FromZero(tid int) bool { return list.startKnown && !list.rejected[tid].old }

// Remove removes a gone thread, which stays in inOrder until the next listing.
func (list *ThreadList) Remove(th *Thread) {
	delete(list.byTID, th.TID)
	list.HintChange()
}

// Reject notes that a thread is not selected by its name.
func (list *ThreadList) Reject(tid int, now monotonic.Moment) {
	if list.rejected == nil {
		list.rejected = map[int]rejected{}
	}
	entry := list.rejected[tid]
	if entry.since == 0 {
		entry.since, entry.old = now, !list.startKnown
	}
	entry.retryAt = now.Add(min(now.Sub(entry.since), NameEvery))
	list.rejected[tid] = entry
}

// Rejects reports whether a thread was rejected, and its name is not read again yet.
func (list *ThreadList) Rejects(tid int, now monotonic.Moment) bool {
	return now < list.rejected[tid].retryAt
}

// ForgetAllRejected follows an exec.
func (list *ThreadList) ForgetAllRejected() { clear(list.rejected) }

// ForgetRejected drops the rejected threads that are not listed. It sorts tids.
func (list *ThreadList) ForgetRejected(tids []int) {
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

// Knows reports whether a thread is tracked or rejected.
func (list *ThreadList) Knows(tid int) bool {
	if list.byTID[tid] != nil {
		return true
	}
	_, rejected := list.rejected[tid]
	return rejected
}

// AddListed adds a thread to the last listing.
func (list *ThreadList) AddListed(tid int) { list.tids = append(list.tids, tid) }
