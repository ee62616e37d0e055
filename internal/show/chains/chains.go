// SPDX-License-Identifier: Apache-2.0

// Package chains follows waits to their end: from a thread to the owner of its lock or the process at the other end of
// its socket, to what that one waits for, and so on.
//
// # Algorithm
//
// The input are intervals: what each thread did from one time to another. A dump has one for each thread, all at the
// same time. An interval's blocked time is divided among what the next thread did meanwhile; its CPU and run queue time
// end the chain, its blocked time continues it:
//
//	web 12       ├─────── reads from app's socket ───────┤
//	app 20       │ waits for mutex mu │      runs        │     web → app → fill of app 21, which runs
//	app 21       │ runs fill          │                        web → app, which runs
//
// Where a process is waited for, the way continues if one thread of it is not idle at that time; in a process with
// several threads that is a guess. A way has at most maxLinks links. A thread that is on the way already closes a
// cycle, which is a deadlock only if each wait in it is final.
//
// # Invariants
//
// The blocked times of all chains add up to that of the intervals that start one. What is not known is an end, too.
package chains

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/schema"
	"prywalk/internal/walk/waits"
)

// maxLinks bounds the links of a chain.
const maxLinks = 32

// Kind is how a chain ends.
type Kind string

// Values of [Kind].
const (
	Running  Kind = "running"  // on a CPU; in a dump, or queued for one
	Queued   Kind = "queued"   // ready to run, without a CPU
	Timer    Kind = "timer"    // a sleep of a given length
	Disk     Kind = "disk"     // state D, or a page fault
	Outside  Kind = "outside"  // a process that was not looked at, another machine, a terminal
	Deadlock Kind = "deadlock" // a cycle of waits that never ended
	Unknown  Kind = "unknown"
)

// Link is a thread, or several that do the same, on the way.
type Link struct {
	PID int `json:"pid,omitempty"`
	// TID is the thread; absent if the chain is that of several threads, or a process was not looked at.
	TID int `json:"tid,omitempty"`
	// Task is the number of a goroutine, which has no thread.
	Task uint64 `json:"task,omitempty"`
	// TaskName is that of an asyncio task; absent if the chain is that of several.
	TaskName string `json:"task_name,omitempty"`
	Comm     string `json:"comm,omitempty"`
	// Function is the program's innermost function.
	Function string `json:"function,omitempty"`
	// WaitsFor is what it waits for; absent at the end.
	WaitsFor *waits.Wait `json:"waits_for,omitempty"`
	// Guess is why the next link is inferred, not read; absent if it is not inferred.
	Guess string `json:"guess,omitempty"`
}

// End is where a chain ends.
type End struct {
	Kind Kind `json:"kind"`
	PID  int  `json:"pid,omitempty"`
	// Comm is the process's name.
	Comm string `json:"comm,omitempty"`
	// Function is the program's innermost function of the last link.
	Function string `json:"function,omitempty"`
	// Why is the reason of an unknown end, or the address of one outside.
	Why string `json:"why,omitempty"`
}

// counted is a thread, or an interval of equal tasks, with their number.
type counted struct{ id, count int }

// Chain is a way from waiting threads to what they wait for in the end.
type Chain struct {
	// Blocked is the time of these waits, in nanoseconds. A dump knows no times.
	Blocked int64 `json:"blocked,omitempty"`
	// Threads is the number of threads, and tasks without one, that wait in this way.
	Threads int    `json:"threads"`
	Links   []Link `json:"links"`
	End     End    `json:"end"`

	// Meanwhile is what other threads and tasks did, the longest first, of the process that could end an unknown wait.
	Meanwhile []Link `json:"meanwhile,omitempty"`

	way       *node
	starts    []counted // the threads that are counted, by their IDs
	unlabeled int64     // blocked time of tasks without an ID, in nanoseconds
}

// EndShare is an end with all chains that lead to it.
type EndShare struct {
	End End `json:"end"`
	// Share is the part of the blocked time, in a dump of the blocked threads and tasks, 0 to 1.
	Share   float64 `json:"share"`
	Blocked int64   `json:"blocked,omitempty"`
}

// LinkShare is a link, without the first ones, with all chains that pass through it.
type LinkShare struct {
	Link Link `json:"link"`
	// Share is the part of the blocked time, in a dump of the blocked threads and tasks, 0 to 1.
	Share   float64 `json:"share"`
	Blocked int64   `json:"blocked,omitempty"`
}

// Report has the chains of some processes.
type Report struct {
	schema.Head
	// Conclusion is the first line of the text.
	Conclusion string `json:"conclusion"`
	// Blocked is the blocked time of all threads, without idle waits, in nanoseconds. A dump knows no times.
	Blocked int64 `json:"blocked,omitempty"`
	// Threads is the number of threads, and tasks without one, that were blocked, without those that were always idle.
	Threads int  `json:"threads"`
	tasks   bool // some of Threads are tasks
	// Chains are the longest first.
	Chains []Chain     `json:"chains"`
	Ends   []EndShare  `json:"ends"`
	Links  []LinkShare `json:"links"`
}

// Interval is what a thread did for a time.
type Interval struct {
	// ID is the thread's TID, or negative for a task without a thread. Idle names the rule by which its wait is idle.
	ID, PID int
	Idle    string
	// Count is the number of threads or tasks that do the same; 0 means one.
	Count int
	// Task is the ID of the task that the thread runs, which can go on in another thread; 0 if that is not known. No two
	// intervals of one overlap.
	Task int
	// Passed means that no chain starts here. Apart means that no chain starts here either, and none goes through the
	// thread as one that serves, even while it runs.
	Passed, Apart bool
	// From and To are in nanoseconds. Running, Queued and Blocked are parts of that time, in any unit that a dump likes.
	From, To                 int64
	Running, Queued, Blocked int64
	// Link.WaitsFor is of the blocked time.
	Link Link
	Next Next

	asleep, awake *Link // nil until used
}

// Next is what an interval's blocked time leads to: a thread, else a process, else an end.
type Next struct {
	Thread    int
	Processes []waits.Peer
	End       End
	// Descriptor is the link of the descriptor that the thread waits at, OtherEnd that of the other end.
	Descriptor, OtherEnd string
	// Lock is equal for all waiters of one lock, whose later waits may show another owner; "" if that is not known.
	Lock string
	// Final means that the wait has no time-out, and the thread did not run any more.
	Final bool
}

// Tasks gives the tasks of processes negative IDs by name.
type Tasks map[lockKey]int

// firstTask is beyond the negative process IDs.
const firstTask = -1 << 30

// Unlabeled is the ID of all tasks of a process that have none in a recording.
func Unlabeled(pid int) int { return -pid }

// ID returns a task's ID.
func (t Tasks) ID(pid int, name string) int {
	k := lockKey{pid, name}
	if t[k] == 0 {
		t[k] = firstTask - 1 - len(t)
	}
	return t[k]
}

// Next returns what the wait of a task leads to. awaits is the name of the only task that it awaits, or "".
func (t Tasks) Next(w *waits.Wait, pid int, awaits string) Next {
	switch {
	case awaits != "":
		return Next{Thread: t.ID(pid, awaits)}
	case w.Kind == waits.Other:
		return Next{End: End{Kind: Unknown, Why: "an asyncio task's " + cmp.Or(w.Symbol, "wait") + " stores no owner"}}
	}
	return NextOf(w)
}

// Reasons of ends at threads that wait for nothing.
const (
	stopped = "stopped by a signal or a debugger; SIGCONT, or the debugger, continues it"
	frozen  = "frozen with its control group"
	Forked  = "taken by a thread of the parent process before the fork: no thread of this process holds it"
)

// isKnown reports that the chain needs no owner to end there.
func (e *End) isKnown() bool {
	return e.Kind != Unknown || e.Why == stopped || e.Why == frozen || strings.HasSuffix(e.Why, Forked)
}

// NextOf returns what a wait leads to. Lock and Final are not set.
func NextOf(w *waits.Wait) (n Next) {
	unknown := func(why string) Next { return Next{End: End{Kind: Unknown, Why: why}} }
	if w == nil {
		return unknown("what the thread waits for is not known")
	}
	switch file := w.OnlyFile(); {
	case w.Kind == waits.Sleep:
		return Next{End: End{Kind: Timer}}
	case w.Kind == waits.Disk, w.Kind == waits.PageFault:
		return Next{End: End{Kind: Disk}}
	case w.Kind == waits.Stopped:
		return unknown(stopped)
	case w.Kind == waits.Frozen:
		return unknown(frozen)
	case w.Owner != 0:
		return Next{Thread: w.Owner}
	case w.OwnerTask != 0:
		return unknown("virtual thread " + cmp.Or(w.OwnerName, fmt.Sprint("#", w.OwnerTask)) + " holds it")
	case w.OwnerProcess != 0:
		return Next{Processes: []waits.Peer{{PID: w.OwnerProcess, Name: w.OwnerName}}}
	case w.OwnerParent != 0 || w.Why == Forked:
		return unknown("at " + w.Label() + ", " + Forked)
	case w.OwnerGone != 0:
		return unknown("the owner of the lock has ended")
	case w.Kind == waits.Descriptor && file != nil:
		return nextOfFile(file)
	case w.Kind == waits.Descriptor && len(w.FDs) > 1:
		return unknown("waits for several descriptors")
	case w.Kind == waits.Child:
		return unknown("which child is waited for is not known")
	case w.Why != "" && !strings.HasPrefix(w.Why, "stores "): // the subject follows
		return unknown(w.Why)
	case w.Type != "" && w.Type != languages.PythonRLock:
		return unknown("a " + w.Type + " stores no owner")
	case w.Kind.HasOwner() || w.IsLock():
		return unknown("the owner of the lock is not known")
	case w.Kind.IsSynchronization():
		article := "a "
		if strings.ContainsRune("aeio", rune(w.Kind[0])) {
			article = "an "
		}
		return unknown(article + string(w.Kind) + " stores no owner")
	}
	return unknown("waits for " + strings.TrimPrefix(w.Object(), string(waits.Other)+" "))
}

func nextOfFile(f *waits.OpenFile) Next {
	end := func(k Kind, why string) Next { return Next{End: End{Kind: k, Why: why}} }
	remote, _ := netip.ParseAddrPort(f.Remote)
	switch {
	case f.State == waits.NotAccepted &&
		slices.ContainsFunc(f.Peers, func(p waits.Peer) bool { return p.PID != f.Peers[0].PID }):
		return end(Unknown, "none of "+f.Peers[0].Name+"'s processes has accepted the connection yet")
	case len(f.Peers) > 0:
		return Next{Processes: f.Peers}
	case f.State == "LISTEN":
		return end(Unknown, "waits for a connection")
	case f.Type == "socket" && remote.Addr().IsLoopback():
		return end(Unknown, "the process at "+f.Remote+" was not found; it may be another user's")
	case f.Type == "socket" && f.Remote != "":
		return end(Outside, f.Remote+waits.Unfinished(f.State))
	case f.Type == "timerfd":
		return end(Timer, "")
	case f.State == waits.NoOtherEnd:
		return end(Unknown, "no process was found at the other end of the "+f.Type)
	case f.Type == "socket" || f.Type == "pipe": // a recording lists them from time to time
		return end(Unknown, "the other end of the "+f.Type+" is not known")
	case f.Type == "file":
		return end(Outside, f.Path)
	}
	return end(Unknown, "waits for "+f.String())
}
