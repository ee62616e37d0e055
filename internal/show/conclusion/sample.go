// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"strings"

	"prywalk/internal/walk/waits"
)

// Thread identifies a thread. It is zero for tasks, and if the thread is unknown.
type Thread struct{ PID, TID int64 }

// Function is a function of the program.
type Function struct {
	Name string
	// Module is its file or package, "" if that is the program itself.
	Module string
}

// readyTask is the wait of an asyncio task for its turn in the event loop.
const readyTask = "ready"

// AResponse begins the object of a wait for a server.
const AResponse = "a response of "

// AClass is the object of a wait until another thread of Java has initialized a class.
const AClass = "a class's initialization"

// Wait is what a sleeping thread waits for.
type Wait struct {
	// Call is the system call, or a goroutine's reason, or "" if it is unknown.
	Call string
	Kind waits.Kind
	// Object is a lock's name, a file's type, a peer …, or "".
	Object string
	// In is the function that waits for its object, or sleeps, within the program's, or "".
	In string
	// Owner is a thread's ID of Thread's process; a number that is not positive means that it is unknown.
	Owner int64
	// Inherited means that a thread of the parent process had taken the lock before the fork.
	Inherited bool
	waits.Idleness
}

// Sample is the time of one thread, or of tasks, in one stack and state.
type Sample struct {
	Thread Thread
	Name   string // the thread's
	// ShortLived marks time of child processes in a Program, or "", that ended before they were observed by themselves.
	ShortLived bool
	Program    string
	Task       string // what its task is called, or ""
	// Ticks count samples; CPU, Queue and Blocked are in nanoseconds.
	Ticks, CPU, Queue, Blocked int64
	// Stack has the numbers of the program's own functions, innermost first. It is not kept.
	Stack []int32
	// Own is larger the more its innermost function is the program's own.
	Own int
	// Library is what the innermost of these has called, or "".
	Library string
	// Inner is the part of that (a function of libc) or of the kernel in which the time is, or "".
	Inner string
	// Collector is the garbage collector or compiler that runs, or a placeholder in brackets for an owner that is not
	// known, or "".
	Collector string
	Pooled    bool // in the loop of a pool of threads
	// AwaitsResult means that it waits for a task's result, which a pool's thread makes.
	AwaitsResult bool
	// HoldsLoop means that it is within a turn of the event loop of asyncio, Netty, XNIO or Node.
	HoldsLoop bool
	// Serves means that it is a server's task for a request ([languages.ServesRequest]).
	Serves bool
	// Unexplained means that no sample shows where the CPU time was.
	Unexplained bool
	Incomplete  bool
	Stopped     bool // by a signal or a debugger
	Wait        Wait
}

// IsSleep reports a wait for a time.
func (w *Wait) IsSleep() bool {
	return w.Object == string(waits.Sleep) || w.Call == string(waits.Sleep) ||
		strings.HasSuffix(w.Call, "nanosleep") && w.Kind != waits.DatabaseLock
}

type class int

const (
	within    class = iota // a wait within work
	idle                   // for work
	machinery              // threads of the run-time system, without work
	sleep                  // for a time
	others                 // for the ends of threads, and of children that are recorded or not known
	unknown                // a short wait between samples
	stopped
)

func (s *Sample) class() class {
	w := &s.Wait
	switch {
	case s.Stopped:
		return stopped
	case w.Idle == waits.IdleRuntime:
		return machinery
	case w.Idle != "":
		return idle
	case w.Kind == waits.Child: // that is not recorded
	case w.Kind == waits.Join, strings.HasPrefix(w.Object, string(waits.Child)+" "), strings.HasPrefix(w.Call, "wait4"),
		strings.HasPrefix(w.Call, "waitid"):
		return others
	case w.IsSleep():
		return sleep
	case w.Call == "":
		return unknown
	}
	return within
}
