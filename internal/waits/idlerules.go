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

var results = regexp.MustCompile(`std::(__1::)?(__)?(basic_)?(shared_)?(future|__future_base|promise|latch|barrier)|` +
	`std::(__1::)?__assoc|_M_futex_wait|std::thread::join|boost::(unique_)?(future|thread::join)|` +
	`pthread_(mutex|rwlock)_\w*lock|Mutex::LockSlow|raw_mutex|raw_rwlock|futex_mutex|mutex::futex|` +
	`rwlock::futex|runtime\.lock2`)

func (s *waitingStack) awaitsResult() bool {
	lock, condition := false, false
	for i := range s.inner {
		name := s.inner[i].Function
		if results.MatchString(name) {
			return true
		}
		lock = lock || languages.Matches(name, func(l *languages.Language) *regexp.Regexp { return l.Lock })
		condition = condition || languages.Matches(name, func(l *languages.Language) *regexp.Regexp { return l.Condition })
	}
	return lock && !condition
}

// poolTakes match functions in which pools only wait for work.
var poolTakes = regexp.MustCompile(`^tokio::runtime::scheduler::multi_thread::(worker::Context::park\w*|park::)|` +
	`^tokio::runtime::blocking::pool::\w+::run(_worker)?$|` +
	`^rayon_core::sleep::Sleep::sleep$|` +
	`^runtime\.(stopm|findRunnable|templateThread|startlockedm)$`)

// nested match library functions that wait for a task's end.
var nested = regexp.MustCompile(`^rayon_core::(job|join|latch|scope)|in_worker`)

// pools matches functions of a pool; loops their last part if it runs work. notLoops are others.
var (
	pools = regexp.MustCompile(`(?i)worker|thread_?pool|idle|background|(job|work|task)_?queue|consumer|consume|` +
		`gomp_thread_start|__kmp_launch_thread|blas_thread_server|next_?(task|job)`)
	loops = regexp.MustCompile(`(?i)work|loop|run|main|thread|execute|operator|lambda|service|background|idle|consum|` +
		`jobs?$|entry|serve|block_until_new_connection|launch|next`)
	notLoops = regexp.MustCompile(`(?i)(wait_?(all|done|idle|for|until|finish|complet|empty)|join|submit|enqueue|stop|` +
		`shutdown|drain|flush|sync|call|invoke|result|block$|add|put|push)`)
	// waitsForWork matches what a loop calls to wait for work.
	waitsForWork = regexp.MustCompile(`(?i)^((get|take|next|fetch|pop|poll|` +
		`de_?queue)_?(a_?)?(next_?)?(work|task|job|item)?s?|` +
		`wait_?(for_?)?(work|tasks?|jobs?)|block_until_new_connection)$`)
)

func isLoop(f *Frame) bool {
	name, part := plain(f.Function), last(f.Function)
	return pools.MatchString(name) && loops.MatchString(part) && !notLoops.MatchString(part)
}

// scope gives the enclosing scope: "ThreadPool::" of "ThreadPool::worker".
func scope(function string) string {
	name := plain(function)
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		return name[:i+1]
	}
	return name
}

// awaitsWork reports whether a pool's or queue's loop waits for work: the waiting function does nothing else; or it is
// the thread's own, and takes from a library queue; or it is named as a pool's loop, below no other loop.
func (s *waitingStack) awaitsWork() bool {
	switch {
	case s.awaitsResult():
		return false
	case s.inAsioLoop() || s.onlyIn("libtbb.so"):
		return true
	case len(s.outer) == 0:
		return false
	}
	f := s.outer[0]
	switch {
	case poolTakes.MatchString(f.Function):
		return !s.calledBy(nested)
	case s.drivesTokio():
		return true
	case f.awaitsTask():
		return true
	case s.main:
		return false
	case s.managed:
		return len(s.outer) == 1 && (s.takesFromQueue() || isLoop(&f) && !s.mayAwaitLock())
	}
	from := 0
	if waitsForWork.MatchString(last(f.Function)) && len(s.outer) > 1 {
		from, f = 1, s.outer[1]
	}
	return isLoop(&f) && s.isOutermostLoop(from)
}

// mayAwaitLock reports whether a managed loop may wait for a lock.
func (s *waitingStack) mayAwaitLock() bool {
	for i := range s.inner {
		if l := s.inner[i].language(); l != nil {
			return l.Acquires != nil && l.Acquires(s.inner[i].Function)
		}
	}
	l := s.outer[0].language()
	return l != nil && l.BareLocks
}

// awaitsTask reports whether a pool's worker waits for its next task in a managed function.
func (f *Frame) awaitsTask() bool {
	l := f.language()
	return l != nil && l.Pooled != nil && l.Pooled(f.Function, f.File)
}

func (s *waitingStack) inAsioLoop() bool {
	for _, list := range [][]Frame{s.inner, s.outer} {
		for i := range list {
			switch f := &list[i]; {
			case strings.Contains(f.Function, "asio::detail::scheduler::do_run_one"):
				return true
			case libc.MatchString(f.Module), asioWaits.MatchString(f.Function):
			default:
				return false
			}
		}
	}
	return false
}

var asioWaits = regexp.MustCompile(`^(boost::)?asio::detail::(posix|conditionally_enabled|std)_event::`)

func (s *waitingStack) onlyIn(library string) bool {
	for i := range s.outer {
		if !strings.HasPrefix(s.outer[i].Module, library) {
			return false
		}
	}
	return !s.main && len(s.outer) > 0
}

func (s *waitingStack) drivesTokio() bool {
	for i := range s.outer {
		switch f := &s.outer[i]; {
		case i > 0 && poolTakes.MatchString(f.Function):
			return !s.calledBy(nested)
		case !strings.HasPrefix(plain(f.Function), "tokio::runtime::"):
			return false
		}
	}
	return false
}

func (s *waitingStack) calledBy(those *regexp.Regexp) bool {
	for i := range s.outer[1:] {
		if those.MatchString(s.outer[i+1].Function) {
			return true
		}
	}
	return false
}

// isOutermostLoop reports whether no outer function is another pool's loop.
func (s *waitingStack) isOutermostLoop(from int) bool {
	own, apart := scope(s.outer[from].Function), false
	for i := range s.outer[from+1:] {
		f := &s.outer[from+1+i]
		switch {
		case strings.HasPrefix(f.Function, "std::"): // calls its argument
			apart = true
		case isLoop(f) && (apart || !strings.HasPrefix(plain(f.Function), own)):
			return false
		case !isLoop(f):
			apart = true
		}
	}
	return true
}

// eventLoops matches functions of event loops.
var eventLoops = regexp.MustCompile(`(?i)event_?base_?loop|event_?loop|main_?loop|main_?context|run_?loop|run_once|` +
	`serve_forever|run_forever|process_?events|event_?dispatcher|(poll|select)_?dispatch|dispatch_?loop|server_?loop|` +
	`reactor|SyncWorker\.wait|^PostmasterMain$|` +
	`\baeApiPoll|\buv_run|uv__io_poll|\bev_run|poll_?loop|select_?loop|io_?loop|SelectorImpl\.|Poller|` +
	`doPoll|doSelect|doIteration|xpoll|runtime\.netpoll`)

// eventLoopRule gives the rule for a call of inLoops: the waiting function or its caller must be an event loop or main.
func (s *waitingStack) eventLoopRule() string {
	for i := range s.inner {
		switch f := &s.inner[i]; {
		case f.accepts():
			return IdleAccept
		case f.selects():
			return IdleLoop
		}
	}
	for i := range s.outer[:min(len(s.outer), 2)] {
		f := &s.outer[i]
		if i == 0 && f.accepts() {
			return IdleAccept
		}
		if eventLoops.MatchString(plain(f.Function)) || i == 0 && isMain(f) {
			return IdleLoop
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

// serverLoops match the functions of PostgreSQL in which processes wait for work.
var serverLoops = regexp.MustCompile(`^(WaitEventSetWait\w*|WaitLatch\w*|secure_read|ServerLoop|\w+Main(Loop)?|` +
	`StartAutoVacLauncher)$`)

func (s *waitingStack) withinServerWork() bool {
	passing := false
	for i := range s.outer {
		name := s.outer[i].Function
		if strings.HasPrefix(name, "WaitEventSet") || strings.HasPrefix(name, "WaitLatch") {
			passing = true
			continue
		}
		if passing && name == "" {
			continue
		}
		return passing && !serverLoops.MatchString(name)
	}
	return false
}

// ofRuntime reports whether a run-time system's own thread waits in its loop.
func (s *waitingStack) ofRuntime() bool {
	if len(s.outer) == 0 || s.awaitsResult() {
		return false
	}
	if !s.managed {
		if s.onlyIn("libjemalloc.so") {
			return true
		}
		name := plain(s.outer[0].Function)
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

// RulesFile gives a function's source file where the rules use it, else "".
func RulesFile(module, file string) string {
	f := Frame{Module: module}
	if l := f.language(); l != nil && l.RuleFile != nil && l.RuleFile(file) {
		return file
	}
	return ""
}
