// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"slices"
	"strings"

	"prywalk/internal/base/languages"
)

// Idleness is why a wait is for work: by a rule, or by a guess. Zero: it is within work.
type Idleness struct {
	// Idle is the rule by which the wait is idle.
	Idle string `json:"idle,omitempty"`
	// IdleGuess is the waiting function, if only names indicate that it waits for work. The wait is not taken for idle.
	IdleGuess string `json:"idle_guess,omitempty"`
}

// Mark returns "[idle: pool]", "[idle? its function is called take_job]", or "".
func (i Idleness) Mark() string {
	switch {
	case i.Idle != "":
		return "[idle: " + i.Idle + "]"
	case i.IdleGuess != "":
		return "[idle? its function is called " + languages.WithoutArguments(i.IdleGuess) + "]"
	}
	return ""
}

// Rank orders lists: 0 not idle, 1 guessed, 2 idle.
func (i Idleness) Rank() int {
	switch {
	case i.Idle != "":
		return 2
	case i.IdleGuess != "":
		return 1
	}
	return 0
}

func idleBy(rule string) Idleness { return Idleness{Idle: rule} }

// Rules of [Idle].
const (
	// IdleEventLoop is epoll_wait, or poll, select, io_uring_enter and the like of an event loop; not if work runs the
	// loop until a reply is there.
	IdleEventLoop = "event-loop"
	// IdleAccept waits for the next connection, or for the end of a server that accepts them.
	IdleAccept = "accept"
	// IdleSignal waits for the next signal.
	IdleSignal = "signal"
	// IdlePool is a condition, semaphore or park in which a pool's or queue's loop takes its next work.
	IdlePool = "pool"
	// IdleRuntime is a thread of a runtime, such as a compiler of a Java virtual machine, in its own loop.
	IdleRuntime = "runtime"
	// IdleConnection waits for the next message on an open connection.
	IdleConnection = "connection"
	// IdleForever is a goroutine in select {}. One at a nil channel is blocked: mostly a fault.
	IdleForever = "forever"
)

// idleRuleByReason is by system call, or by the function in which a task waits.
var idleRuleByReason = map[string]string{
	"epoll_wait": IdleEventLoop, "epoll_pwait": IdleEventLoop, "epoll_pwait2": IdleEventLoop,
	"accept": IdleAccept, "accept4": IdleAccept,
	// Lib/asyncio/base_events.py; code has its class from Python 3.11 on (co_qualname)
	"asyncio.Server.serve_forever": IdleAccept, "asyncio.serve_forever": IdleAccept,
	"pause": IdleSignal, "rt_sigsuspend": IdleSignal, "rt_sigtimedwait": IdleSignal,
}

var eventLoopCalls = map[string]bool{
	"poll": true, "ppoll": true, "select": true, "pselect6": true, "io_uring_enter": true, "io_getevents": true,
}

func mayAwaitWork(k Kind) bool {
	return k == Condition || k == Semaphore || k == Park || k == Futex || k == NoWait || k == ObjectWait
}

// Frame is a function of a stack, as named in reports; unknown values are empty.
type Frame struct {
	Function string
	// Module is its file in any directory, or the runtime, as in "[CPython 3.12.1]".
	Module string
	File   string
}

// Idle returns why a wait is idle. A thread that waits for work is idle, one that waits within work is blocked.
// reason is [Sleeper.Reason], or a goroutine's, as "chan receive"; the innermost frame is first.
//
// The innermost function that does more than forward the wait decides: all work of a pool is below its loop, so an
// outer loop proves nothing.
func Idle(reason string, kind Kind, stack []Frame) Idleness {
	switch {
	case goroutineWaits[reason] && len(stack) > 0 && stack[0].Function == goparkFunction:
		return idleBy(idleGoroutine(reason, stack))
	case reason == waitCoroutine:
		return idleBy(idleGenerator(stack))
	case reason == "futex", reason == "ppoll" && kind.IsSynchronization(): // [RuntimeWaitCall]
		return idleAtFutex(kind, stack)
	case reason == "read": // of a pipe from which a language's pool of processes takes its tasks
		if s := splitStack(stack); len(s.outer) > 0 && s.outer[0].awaitsTask() {
			return idleBy(IdlePool)
		}
	case strings.HasSuffix(reason, "nanosleep"):
		return idleAsleep(stack)
	case eventLoopCalls[reason], idleRuleByReason[reason] == IdleEventLoop:
		return idleBy(idleAtDescriptors(reason, stack))
	}
	return idleBy(idleRuleByReason[reason])
}

func idleAtDescriptors(call string, stack []Frame) string {
	s := splitStack(stack)
	awaitsLock := func(f Frame) bool { return LockedDatabase(call, f.Function, f.Module) != "" }
	switch {
	case slices.ContainsFunc(stack, awaitsLock), s.awaitsReply():
		return ""
	case s.awaitsMessage():
		return IdleConnection
	case eventLoopCalls[call], s.pollsOneDescriptor():
		return s.eventLoopRule()
	case s.withinServerWork():
		return ""
	}
	return idleRuleByReason[call]
}

func idleAtFutex(kind Kind, stack []Frame) Idleness {
	s := splitStack(stack)
	switch {
	case kind == Join && s.isLauncher():
		return idleBy(IdleRuntime)
	case s.awaitsServer():
		return idleBy(IdleAccept)
	case !mayAwaitWork(kind):
		return Idleness{}
	case s.belongsToRuntime():
		return idleBy(IdleRuntime)
	}
	return s.awaitsWork()
}

// idleAsleep is about a sleep for a time, which is a pause of the program's own work unless a runtime's thread, such as
// Go's sysmon, sleeps.
func idleAsleep(stack []Frame) Idleness {
	if s := splitStack(stack); s.belongsToRuntime() {
		return idleBy(IdleRuntime)
	}
	return Idleness{}
}
