// SPDX-License-Identifier: Apache-2.0

package waits

// # Idle or blocked
//
// A thread that waits for work is idle, one that waits within work is blocked. Rules by name:
//
//	event-loop   epoll_wait; poll, select, io_uring_enter and the like called by an event loop; neither if work runs
//	             the loop until a reply is there
//	accept       the next connection
//	signal       the next signal
//	pool         a condition, semaphore or park in which the loop of a pool or queue takes its next work
//	connection   the next message on an open connection
//	runtime      a thread of the run-time system, such as a Java virtual machine's compilers, in its own loop
//
// The waiting function decides: the innermost that does not only forward the wait. All work of a pool is below its
// loop, so an outer loop proves nothing. Without a rule a wait is blocked.

// The rules' names.
const (
	IdleLoop       = "event-loop"
	IdleAccept     = "accept"
	IdleSignal     = "signal"
	IdlePool       = "pool"
	IdleRuntime    = "runtime"
	IdleConnection = "connection"
	// IdleForever is the wait of a goroutine that nothing can wake: select {}, a nil channel.
	IdleForever = "forever"
)

var byCall = map[string]string{
	"epoll_wait": IdleLoop, "epoll_pwait": IdleLoop, "epoll_pwait2": IdleLoop,
	"accept": IdleAccept, "accept4": IdleAccept,
	"pause": IdleSignal, "rt_sigsuspend": IdleSignal, "rt_sigtimedwait": IdleSignal,
}

// inLoops are calls of event loops, with other uses too.
var inLoops = map[string]bool{
	"poll": true, "ppoll": true, "select": true, "pselect6": true, "io_uring_enter": true, "io_getevents": true,
}

func mayAwaitWork(k Kind) bool {
	return k == Condition || k == Semaphore || k == Park || k == Futex || k == None || k == ObjectWait
}

// Frame is a function of a stack; unknown values are empty.
type Frame struct {
	// Function is its name in reports.
	Function string
	// Module is its file in any directory, or the run-time system as "[CPython 3.12.1]".
	Module string
	File   string
}

// Idle gives the rule by which a wait is idle, or "". wait is its label; stack gives the frames, innermost first, and
// false at the end.
func Idle(wait string, kind Kind, stack func(i int) (Frame, bool)) string {
	switch {
	case goroutineWaits[wait] && isParked(stack):
		return idleGoroutine(wait, stack)
	case wait == "futex", wait == "ppoll" && kind.IsSynchronization(): // [ManagedCall]
		return idleAtFutex(kind, stack)
	case inLoops[wait], byCall[wait] == IdleLoop:
		return idleAtDescriptors(wait, stack)
	}
	return byCall[wait]
}

func idleAtDescriptors(call string, stack func(i int) (Frame, bool)) string {
	s := classify(stack)
	switch {
	case s.awaitsReply():
		return ""
	case s.awaitsMessage():
		return IdleConnection
	case inLoops[call], s.pollsOneDescriptor():
		return s.eventLoopRule()
	case s.withinServerWork():
		return ""
	}
	return byCall[call]
}

func idleAtFutex(kind Kind, stack func(i int) (Frame, bool)) string {
	s := classify(stack)
	switch {
	case kind == Join && s.isLauncher():
		return IdleRuntime
	case !mayAwaitWork(kind):
	case s.belongsToRuntime():
		return IdleRuntime
	case s.awaitsWork():
		return IdlePool
	}
	return ""
}
