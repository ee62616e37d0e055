// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"regexp"
	"slices"
	"strings"

	"prywalk/internal/languages"
)

func (s *waitingStack) takesFromQueue() bool {
	for i := range s.inner {
		f := &s.inner[i]
		l := f.language()
		if l != nil && l.Takes != nil && l.Takes(f.Function, f.File) ||
			languages.Matches(f.Module, func(l *languages.Language) *regexp.Regexp { return l.QueueFile }) ||
			languages.Matches(f.Function, func(l *languages.Language) *regexp.Regexp { return l.QueueFunction }) {
			return true
		}
	}
	return false
}

func (s *waitingStack) awaitsResult() bool {
	lock, condition := false, false
	for i := range s.inner {
		name := s.inner[i].Function
		if resultRegexp.MatchString(name) {
			return true
		}
		lock = lock || languages.Matches(name, func(l *languages.Language) *regexp.Regexp { return l.Lock })
		condition = condition || languages.Matches(name, func(l *languages.Language) *regexp.Regexp { return l.Condition })
	}
	return lock && !condition
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

// awaitsWork reports whether a pool's or queue's loop waits for work. The waiting function does nothing else, or is the
// thread's own and takes from a library's queue, or has the name of a pool's loop below no other loop.
func (s *waitingStack) awaitsWork() bool {
	switch {
	case s.awaitsResult():
		return false
	case s.inForwardingPool() || s.isLibraryThread(workersRegexp):
		return true
	case len(s.outer) == 0:
		return false
	}
	f := s.outer[0]
	switch {
	case awaitsWorkRegexp.MatchString(f.Function):
		return !s.isCalledBy(subtaskRegexp)
	case s.awaitsEvents():
		return true
	case s.isCalledByScheduler() && schedulerWaitRegexp.MatchString(f.Function):
		return true
	case f.awaitsTask() || s.isOfPoolsQueue():
		return true
	case s.main:
		return false
	case s.managed:
		return len(s.outer) == 1 && (s.takesFromQueue() || isLoop(&f) && !s.mayAwaitLock())
	}
	at := s.poolLoopAt()
	return isLoop(&s.outer[at]) && s.isOutermostLoop(at)
}

// poolLoopAt returns the index of the outer function that can be the pool's loop: 0, the waiting function; 1, if that
// takes its caller's next work; 2, if that caller is no loop, takes next work itself, and all three have one scope.
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

func (s *waitingStack) isCalledByScheduler() bool {
	return len(s.outer) > 1 && schedulerRegexp.MatchString(s.outer[1].Function)
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
	return i+1 < len(s.outer) && nextWorkRegexp.MatchString(languages.LastComponent(s.outer[i].Function))
}

func (s *waitingStack) mayAwaitLock() bool {
	for i := range s.inner {
		if l := s.inner[i].language(); l != nil {
			return l.Acquires != nil && l.Acquires(s.inner[i].Function)
		}
	}
	l := s.outer[0].language()
	return l != nil && l.BareLocks
}

func (f *Frame) awaitsTask() bool {
	l := f.language()
	return l != nil && l.Pooled != nil && l.Pooled(f.Function, f.File)
}

func (s *waitingStack) inForwardingPool() bool {
	for _, list := range [][]Frame{s.inner, s.outer} {
		for i := range list {
			switch f := &list[i]; {
			case poolLoopRegexp.MatchString(f.Function):
				return true
			case systemFiles.MatchString(f.Module), poolWaitRegexp.MatchString(f.Function):
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

func (s *waitingStack) awaitsEvents() bool {
	for i := range s.outer {
		switch f := &s.outer[i]; {
		case i > 0 && awaitsWorkRegexp.MatchString(f.Function):
			return !s.isCalledBy(subtaskRegexp)
		case !eventWaitsRegexp.MatchString(languages.WithoutArguments(f.Function)):
			return false
		}
	}
	return false
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
		if eventLoopRegexp.MatchString(languages.WithoutArguments(f.Function)) || i == 0 && (isMain(f) || s.waitsInMain) {
			return IdleEventLoop
		}
	}
	return ""
}

func (f *Frame) accepts() bool {
	l := f.language()
	return l != nil && l.Accepts != nil && l.Accepts(f.Function, f.File)
}

func (f *Frame) selects() bool {
	l := f.language()
	return l != nil && l.Selects != nil && l.Selects(f.Function)
}

// withinServerWork reports whether a server's process waits for an event within its work, not for work.
func (s *waitingStack) withinServerWork() bool {
	caller := s.callerOf(anyEventWaitsRegexp)
	return caller != "" && !mainLoopRegexp.MatchString(caller)
}

// awaitsMessage reports whether a server's thread waits for a client's next message, not for one within its work.
func (s *waitingStack) awaitsMessage() bool {
	return messageLoopRegexp.MatchString(s.callerOf(messageRegexp))
}

func (s *waitingStack) pollsOneDescriptor() bool {
	return slices.ContainsFunc(s.inner, func(f Frame) bool { return onePollsRegexp.MatchString(f.Function) })
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
			return l.AwaitsReply != nil && l.AwaitsReply(f.Function, f.File)
		}
		if replyLoopsRegexp.MatchString(f.Function) {
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
		if s.isLibraryThread(servicesRegexp) {
			return true
		}
		name := languages.WithoutArguments(s.outer[0].Function)
		return slices.ContainsFunc(languages.All, func(l *languages.Language) bool {
			return l.NativeOwn != nil && l.NativeOwn(s.outer[0].Module, name)
		})
	}
	caller := ""
	if len(s.outer) > 1 {
		caller = s.outer[1].Function
	}
	l := s.outer[0].language()
	return l != nil && l.Own != nil && l.Own(s.outer[0].Function, caller)
}

func (s *waitingStack) isLauncher() bool {
	return len(s.outer) > 0 && languages.Matches(s.outer[0].Module,
		func(l *languages.Language) *regexp.Regexp { return l.Launcher })
}

// RulesFile returns a function's source file if the idle rules use it, else "".
func RulesFile(module, file string) string {
	f := Frame{Module: module}
	if l := f.language(); l != nil && l.NeedsFile != nil && l.NeedsFile(file) {
		return file
	}
	return ""
}
