package waits

import "regexp"

// # Idle or blocked
//
// A thread that waits for work is idle; one that waits in the midst of work is blocked. The kernel does not tell them
// apart, so rules do, each with a name that is shown:
//
//	event-loop   epoll_wait, poll, select, io_uring_enter: whatever happens next is its work, but for PostgreSQL's
//	             ProcSleep, which waits for a lock so
//	accept       the next connection
//	signal       the next signal
//	pool         a condition, a semaphore or a park, in a function whose name says that it waits for work
//
// They are a help to the reader, and can be switched off; nothing is left out because of them.

// The rules' names.
const (
	IdleLoop   = "event-loop"
	IdleAccept = "accept"
	IdleSignal = "signal"
	IdlePool   = "pool"
)

// loops are the calls that wait for whatever happens next.
var loops = map[string]string{
	"epoll_wait": IdleLoop, "epoll_pwait": IdleLoop, "epoll_pwait2": IdleLoop, "poll": IdleLoop, "ppoll": IdleLoop,
	"select": IdleLoop, "pselect6": IdleLoop, "io_uring_enter": IdleLoop, "io_getevents": IdleLoop,
	"accept": IdleAccept, "accept4": IdleAccept,
	"pause": IdleSignal, "rt_sigsuspend": IdleSignal, "rt_sigtimedwait": IdleSignal,
}

// pools matches names of functions in which threads wait for work.
var pools = regexp.MustCompile(`(?i)(worker|thread_?pool|idle|background|getTask|take_?task|next_?task|` +
	`wait_?for_?(work|task|job)|job_?queue|work_?queue|task_?queue|dequeue|` +
	`runtime\.(stopm|findRunnable|templateThread)|consumer_?loop)`)

// pooled are the kinds that threads wait for work by.
func pooled(k Kind) bool {
	return k == Condition || k == Semaphore || k == Park || k == Futex || k == None || k == ObjectWait
}

// Idle gives the name of the rule by which a wait is idleness, "" if none says so. wait is the label of the wait, kind
// what is known of its kind, and function gives the functions of the stack, the innermost first, "" at its end.
func Idle(wait string, kind Kind, function func(i int) string) string {
	if rule := loops[wait]; rule != "" {
		if within(function, notIdle) {
			return ""
		}
		return rule
	}
	if wait != "futex" || !pooled(kind) {
		return ""
	}
	if within(function, pools.MatchString) {
		return IdlePool
	}
	return ""
}

// notIdle reports whether a function that calls an event loop's call waits in the midst of its work: a process of
// PostgreSQL waits so for a row's or table's lock.
func notIdle(function string) bool { return function == "ProcSleep" }

// within reports whether one of the innermost functions is one of those.
func within(function func(i int) string, those func(string) bool) bool {
	for i := range mostIdle {
		name := function(i)
		if name == "" {
			return false
		}
		if those(name) {
			return true
		}
	}
	return false
}

// mostIdle is how many of the innermost functions are asked.
const mostIdle = 24
