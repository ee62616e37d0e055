// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"regexp"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
)

func (s *waitingStack) takesFromQueue() bool {
	for i := range s.inner {
		f := &s.inner[i]
		l := f.language()
		if l != nil && l.Waits.Takes != nil && l.Waits.Takes(f.Function, f.File) ||
			languages.Matches(f.Module, func(l *languages.Language) *regexp.Regexp { return l.System.QueueFile }) ||
			languages.Matches(f.Function, func(l *languages.Language) *regexp.Regexp { return l.System.QueueFunction }) {
			return true
		}
	}
	return false
}

// awaitsResult reports a wait for a result or a lock. A semaphore's permit is neither.
func (s *waitingStack) awaitsResult() bool {
	return slices.ContainsFunc(s.inner, func(f Frame) bool { return libs.Result.MatchString(f.Function) }) ||
		s.innerMatches(func(l *languages.Language) *regexp.Regexp { return l.Waits.Lock }) && !s.awaitsPermit()
}

func (s *waitingStack) awaitsPermit() bool {
	return s.innerMatches(func(l *languages.Language) *regexp.Regexp { return l.Waits.Permit })
}

func (s *waitingStack) innerMatches(part func(*languages.Language) *regexp.Regexp) bool {
	return slices.ContainsFunc(s.inner, func(f Frame) bool { return languages.Matches(f.Function, part) })
}

func isLoop(f *Frame) bool {
	name, part := languages.WithoutArguments(f.Function), languages.LastComponent(f.Function)
	return poolRegexp.MatchString(name) && loopRegexp.MatchString(part) && !notLoopRegexp.MatchString(part)
}

// scopeOf returns the namespace or class of a function with its separator, or a name without one.
func scopeOf(function string) string {
	name := languages.WithoutArguments(function)
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		return name[:i+1]
	}
	return name
}

// poolRules decide whether a thread that waits for other threads is a pool's or queue's worker without work. The first
// that applies decides; if none does, it is blocked.
var poolRules = []poolRule{
	{"it waits for a result or a lock", (*waitingStack).awaitsResult, blocked},
	{"all functions of the pool forward waits", (*waitingStack).inForwardingPool, idle},
	{"a thread of a library's workers", func(s *waitingStack) bool { return s.isLibraryThread(libs.WorkerFiles) }, idle},
	{"a subtask's end", (*waitingStack).awaitsSubtask, blocked},
	{"a worker waits for work or events", (*waitingStack).awaitsWorkOnly, idle},
	{"a scheduler's wait", (*waitingStack).isOfScheduler, idle},
	{"a language's pool", func(s *waitingStack) bool { return s.outer[0].awaitsTask() }, idle},
	{"the queue of a language's pool", (*waitingStack).isOfPoolsQueue, idle},
	{"the first thread", func(s *waitingStack) bool { return s.main }, blocked},
	{"the thread's only managed function takes from a queue", (*waitingStack).onlyTakesFromQueue, idle},
	{"the thread's only managed function is a library's", (*waitingStack).isLibrarysLoop, idle},
	{"the thread's only managed function is a loop", (*waitingStack).isOnlyManagedLoop, guessedIdle},
	{"another managed function", func(s *waitingStack) bool { return s.managed }, blocked},
	{"a loop by its name", (*waitingStack).isOfNamedLoop, guessedIdle},
}

type poolRule struct {
	name    string
	applies func(*waitingStack) bool // there is an outer function
	wait    poolWait
}

type poolWait int

const (
	blocked poolWait = iota
	idle
	guessedIdle // the names of functions are the only evidence
)

func (s *waitingStack) awaitsWork() Idleness {
	if len(s.outer) == 0 {
		if s.awaitsResult() || !s.inForwardingPool() {
			return Idleness{}
		}
		return idleBy(IdlePool)
	}
	i := slices.IndexFunc(poolRules, func(r poolRule) bool { return r.applies(s) })
	switch {
	case i < 0 || poolRules[i].wait == blocked:
		return Idleness{}
	case poolRules[i].wait == guessedIdle:
		return Idleness{IdleGuess: s.outer[0].Function}
	}
	return idleBy(IdlePool)
}

func (s *waitingStack) awaitsSubtask() bool {
	return s.awaitsWorkOnly() && s.isCalledBy(libs.Subtask)
}

// awaitsWorkOnly reports whether the waiting function, or the one for which it waits for events, waits for work only.
func (s *waitingStack) awaitsWorkOnly() bool {
	isOther := func(f Frame) bool { return !libs.EventWaits.MatchString(languages.WithoutArguments(f.Function)) }
	isWork := func(f Frame) bool { return libs.AwaitsWork.MatchString(f.Function) }
	at, other := slices.IndexFunc(s.outer, isWork), slices.IndexFunc(s.outer, isOther)
	return at >= 0 && (other < 0 || at <= other)
}

func (s *waitingStack) onlyTakesFromQueue() bool { return s.isOnlyManaged() && s.takesFromQueue() }

func (s *waitingStack) isOnlyManagedLoop() bool {
	return s.isOnlyManaged() && isLoop(&s.outer[0]) && !s.mayAwaitLock() && !s.awaitsPermit() // which limits work
}

// isLibrarysLoop reports whether the stack has no function of the program: the wait then holds up none of its work.
func (s *waitingStack) isLibrarysLoop() bool {
	f := s.outer[0]
	return s.isOnlyManaged() && !s.mayAwaitLock() &&
		(IsLibrary(f) || languages.IsInstalled(f.Function, f.Module, f.File))
}

func (s *waitingStack) isOnlyManaged() bool { return s.managed && len(s.outer) == 1 }

// isOfNamedLoop reports whether the waiting function has the name of a pool's loop, below no other loop.
func (s *waitingStack) isOfNamedLoop() bool {
	at := s.poolLoopAt()
	return isLoop(&s.outer[at]) && s.isOutermostLoop(at)
}

// poolLoopAt returns the index of the outer function whose name must be a loop's: the waiting function, or the caller
// for which it takes work, across at most two functions of one scope.
// Precondition: there is an outer function.
func (s *waitingStack) poolLoopAt() int {
	if !s.takesNextWork(0) {
		return 0
	}
	own := scopeOf(s.outer[0].Function)
	if !isLoop(&s.outer[1]) && s.takesNextWork(1) && scopeOf(s.outer[1].Function) == own &&
		scopeOf(s.outer[2].Function) == own {
		return 2
	}
	return 1
}

func (s *waitingStack) isOfScheduler() bool {
	isWait := func(callee, caller *Frame) bool {
		return libs.Scheduler.MatchString(caller.Function) && libs.SchedulerWait.MatchString(callee.Function)
	}
	return len(s.outer) > 1 && isWait(&s.outer[0], &s.outer[1]) ||
		len(s.inner) > 0 && isWait(&s.inner[len(s.inner)-1], &s.outer[0])
}

// isOfPoolsQueue reports whether the waiting function takes work for a pool's task function. A Java compiler may add a
// bridge method of the same name (JLS 15.12.4.5), as to Tomcat's TaskQueue.take.
func (s *waitingStack) isOfPoolsQueue() bool {
	i := 0
	for s.takesNextWork(i) && s.outer[i+1].Function == s.outer[i].Function {
		i++
	}
	return s.takesNextWork(i) && s.takesNextWork(i+1) && s.outer[i+1].awaitsTask()
}

// takesNextWork reports whether outer function i, by its name, waits for the next work of its caller.
func (s *waitingStack) takesNextWork(i int) bool {
	return i+1 < len(s.outer) && nextWork.MatchString(languages.LastComponent(s.outer[i].Function))
}

func (s *waitingStack) mayAwaitLock() bool {
	for i := range s.inner {
		if l := s.inner[i].language(); l != nil {
			return l.Waits.Acquires != nil && l.Waits.Acquires(s.inner[i].Function)
		}
	}
	l := s.outer[0].language()
	return l != nil && l.Waits.BareLocks
}

func (f *Frame) awaitsTask() bool {
	l := f.language()
	return l != nil && l.Waits.Pooled != nil && l.Waits.Pooled(f.Function, f.File)
}

func (s *waitingStack) inForwardingPool() bool {
	for _, list := range [][]Frame{s.inner, s.outer} {
		for i := range list {
			switch f := &list[i]; {
			case libs.ForwardingLoop.MatchString(f.Function):
				return true
			case systemFiles.MatchString(f.Module), libs.LoopWait.MatchString(f.Function):
			default:
				return false
			}
		}
	}
	return false
}

func (s *waitingStack) isLibraryThread(files *regexp.Regexp) bool {
	isOther := func(f Frame) bool { return !files.MatchString(f.Module) }
	return !s.main && len(s.outer) > 0 && !slices.ContainsFunc(s.outer, isOther)
}

func (s *waitingStack) isCalledBy(pattern *regexp.Regexp) bool {
	return slices.ContainsFunc(s.outer[1:], func(f Frame) bool { return pattern.MatchString(f.Function) })
}

// isOutermostLoop reports whether no function outward of from is another pool's loop.
func (s *waitingStack) isOutermostLoop(from int) bool {
	own := scopeOf(s.outer[from].Function)
	calledByOther := false // a function that is no loop is between: the outer loop is another pool's
	for i := range s.outer[from+1:] {
		f := &s.outer[from+1+i]
		switch {
		case strings.HasPrefix(f.Function, "std::"): // calls its argument
			calledByOther = true
		case isLoop(f) && (calledByOther || !strings.HasPrefix(languages.WithoutArguments(f.Function), own)):
			return false
		case !isLoop(f):
			calledByOther = true
		}
	}
	return true
}

// awaitsServer reports whether the innermost function outside of the language's library waits for a server's end.
func (s *waitingStack) awaitsServer() bool {
	i := slices.IndexFunc(s.outer, isApplicationFunction)
	return i >= 0 && languages.Matches(s.outer[i].Function,
		func(l *languages.Language) *regexp.Regexp { return l.Waits.Serves })
}

// eventLoopRule requires that the waiting function or its caller is an event loop or main.
func (s *waitingStack) eventLoopRule() string {
	for i := range s.inner {
		switch f := &s.inner[i]; {
		case f.accepts():
			return IdleAccept
		case f.selects():
			return IdleEventLoop
		}
	}
	for i := range s.outer[:min(len(s.outer), 2)] {
		f := &s.outer[i]
		if i == 0 && f.accepts() {
			return IdleAccept
		}
		if libs.EventLoop.MatchString(languages.WithoutArguments(f.Function)) || i == 0 && (isMain(f) || s.waitsInMain) {
			return IdleEventLoop
		}
	}
	return ""
}

func (f *Frame) accepts() bool {
	l := f.language()
	return l != nil && l.Waits.Accepts != nil && l.Waits.Accepts(f.Function, f.File)
}

func (f *Frame) selects() bool {
	l := f.language()
	return l != nil && l.Waits.Selects != nil && l.Waits.Selects(f.Function, f.File)
}

// withinServerWork reports whether a server's process waits for an event within its work, not for work.
func (s *waitingStack) withinServerWork() bool {
	caller := s.callerOf(libs.AnyWait)
	return caller != "" && !libs.MainLoop.MatchString(caller)
}

// awaitsMessage reports whether a server's thread waits for a client's next message, not for one within its work.
func (s *waitingStack) awaitsMessage() bool {
	return libs.MessageLoop.MatchString(s.callerOf(libs.Message))
}

func (s *waitingStack) pollsOneDescriptor() bool {
	return slices.ContainsFunc(s.inner, func(f Frame) bool { return libs.OnePoll.MatchString(f.Function) })
}

// callerOf returns the caller of the outermost function of a group that includes the waiting one, or "". Functions
// without a name belong to the group.
func (s *waitingStack) callerOf(group *regexp.Regexp) string {
	inside := false
	for i := range s.outer {
		switch name := s.outer[i].Function; {
		case group.MatchString(name):
			inside = true
		case inside && name == "":
		case inside:
			return name
		default:
			return ""
		}
	}
	return ""
}

func (s *waitingStack) awaitsReply() bool {
	for i := range s.outer {
		f := &s.outer[i]
		if isManaged(*f) { // the innermost
			l := f.language()
			return l.Waits.AwaitsReply != nil && l.Waits.AwaitsReply(f.Function, f.File)
		}
		if libs.ReplyLoop.MatchString(f.Function) {
			return true
		}
	}
	return false
}

func (s *waitingStack) belongsToRuntime() bool {
	if len(s.outer) == 0 || s.awaitsResult() {
		return false
	}
	if !s.managed {
		if s.isLibraryThread(libs.ServiceFiles) {
			return true
		}
		name := languages.WithoutArguments(s.outer[0].Function)
		return slices.ContainsFunc(languages.All, func(l *languages.Language) bool {
			return l.System.NativeOwn != nil && l.System.NativeOwn(s.outer[0].Module, name)
		})
	}
	caller := ""
	if len(s.outer) > 1 {
		caller = s.outer[1].Function
	}
	l := s.outer[0].language()
	return l != nil && l.Waits.Own != nil && l.Waits.Own(s.outer[0].Function, caller)
}

func (s *waitingStack) isLauncher() bool {
	return len(s.outer) > 0 && languages.Matches(s.outer[0].Module,
		func(l *languages.Language) *regexp.Regexp { return l.System.Launcher })
}
