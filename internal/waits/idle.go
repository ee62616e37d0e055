// SPDX-License-Identifier: Apache-2.0

package waits

// # Idle or blocked
//
// A thread that waits for work is idle; one that waits in the midst of work is blocked. The kernel does not tell them
// apart, so rules do, each with a name that is shown:
//
//	event-loop   epoll_wait, by its nature; poll, select, io_uring_enter and the like where an event loop calls them
//	accept       the next connection
//	signal       the next signal
//	pool         a condition, a semaphore or a park in which a pool's or a queue's loop takes its next work
//	runtime      a thread of the run-time system itself, as a Java virtual machine's compilers, in its own loop
//
// The function that waits decides: the innermost that only passes no wait on. All work of a pool runs below the pool's
// loop, so a loop that is further out says nothing of the wait ([take]). A wait that no rule fits is blocked.
//
// The rules are a help to the reader, and can be switched off; nothing is left out because of them.

// The rules' names.
const (
	IdleLoop    = "event-loop"
	IdleAccept  = "accept"
	IdleSignal  = "signal"
	IdlePool    = "pool"
	IdleRuntime = "runtime"
)

// byCall are the calls that are idleness by themselves.
var byCall = map[string]string{
	"epoll_wait": IdleLoop, "epoll_pwait": IdleLoop, "epoll_pwait2": IdleLoop,
	"accept": IdleAccept, "accept4": IdleAccept,
	"pause": IdleSignal, "rt_sigsuspend": IdleSignal, "rt_sigtimedwait": IdleSignal,
}

// inLoops are the calls that event loops wait in, and others: a client for one answer, a program for its disk.
var inLoops = map[string]bool{
	"poll": true, "ppoll": true, "select": true, "pselect6": true, "io_uring_enter": true, "io_getevents": true,
}

// pooled are the kinds that threads wait for work by.
func pooled(k Kind) bool {
	return k == Condition || k == Semaphore || k == Park || k == Futex || k == None || k == ObjectWait
}

// Frame is a function of a stack. What is not known is empty.
type Frame struct {
	// Function is its name as reports show it.
	Function string
	// Module is its file, or the run-time system of managed code as "[CPython 3.12.1]"; directories do not matter.
	Module string
	// File is the source file.
	File string
}

// Idle gives the name of the rule by which a wait is idleness, "" if none says so. wait is the label of the wait, kind
// what is known of its kind, and stack gives the frames of the stack, the innermost first; false at its end.
func Idle(wait string, kind Kind, stack func(i int) (Frame, bool)) string {
	rule, own := byCall[wait], wait == "futex" || inLoops[wait]
	if !own && rule != IdleLoop {
		return rule
	}
	s := sortOut(stack)
	switch {
	case rule == IdleLoop:
		if s.inServer() {
			return ""
		}
		return rule
	case inLoops[wait]:
		return s.loop()
	case kind == Join && s.launcher():
		return IdleRuntime
	case !pooled(kind):
		return ""
	case s.ofRuntime():
		return IdleRuntime
	case s.take():
		return IdlePool
	}
	return ""
}
