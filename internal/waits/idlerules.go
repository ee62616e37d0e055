// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"strings"
)

// took reports whether the wait is in the take of a queue of the language's library.
func (s *sorted) took() bool {
	for i := range s.inner {
		f := &s.inner[i]
		if queues.MatchString(f.Function) || strings.HasPrefix(f.Module, "_queue.") ||
			strings.HasPrefix(path.Base(f.File), "queue") && last(f.Function) == "get" {
			return true
		}
	}
	return false
}

// results are functions in which a thread waits for what another one makes, or to have a lock.
var results = regexp.MustCompile(`std::(__1::)?(__)?(basic_)?(shared_)?(future|__future_base|promise|latch|barrier)|` +
	`std::(__1::)?__assoc|_M_futex_wait|std::thread::join|boost::(unique_)?(future|thread::join)|` +
	`Mutex::LockSlow|raw_mutex|raw_rwlock|futex_mutex|mutex::futex|rwlock::futex|runtime\.lock2`)

// javaLocks and javaAwaits tell a wait to have a lock from one for a condition.
var (
	javaLocks  = regexp.MustCompile(`AbstractQueued(Long)?Synchronizer\.(acquire|doAcquire)|StampedLock\.`)
	javaAwaits = regexp.MustCompile(`ConditionObject\.await`)
)

// forResult reports whether the wait is for a lock or a result.
func (s *sorted) forResult() bool {
	lock, await := false, false
	for i := range s.inner {
		name := s.inner[i].Function
		if results.MatchString(name) {
			return true
		}
		lock = lock || javaLocks.MatchString(name)
		await = await || javaAwaits.MatchString(name)
	}
	return lock && !await
}

// poolTakes are the functions in which pools wait for their next work. They do nothing else.
var poolTakes = regexp.MustCompile(`(^|\.)ThreadPoolExecutor\.getTask$|` +
	`^java\.util\.concurrent\.ForkJoinPool\.(awaitWork|runWorker|scan)$|^java\.util\.TimerThread\.mainLoop$|` +
	`SingleThreadEventExecutor\.takeTask$|QueuedThreadPool(\$Runner)?\.(idleJobPoll|run)$|` +
	`^kotlinx\.coroutines\.scheduling\.CoroutineScheduler\$Worker\.(park|tryPark)$|` +
	`^tokio::runtime::scheduler::multi_thread::(worker::Context::park\w*|park::)|` +
	`^tokio::runtime::blocking::pool::\w+::run(_worker)?$|` +
	`^rayon_core::sleep::Sleep::sleep$|^java\.util\.concurrent\.DelayScheduler\.|` +
	`^runtime\.(stopm|findRunnable|templateThread|startlockedm)$`)

// pythonTakes are those of Python by source file: the last part of its path, and the folder.
var pythonTakes = map[string]string{"futures/thread.py": "_worker", "multiprocessing/pool.py": "worker",
	"futures/process.py": "_process_worker"}

// nested are functions of languages' libraries that wait for a task's end, and may be the innermost of a loop.
var nested = regexp.MustCompile(`^rayon_core::(job|join|latch|scope)|in_worker`)

// pools matches names of functions that are part of a pool, loops their last part where it runs the pool's work one
// after the other. notLoops are other parts, of pools too.
var (
	pools = regexp.MustCompile(`(?i)worker|thread_?pool|idle|background|(job|work|task)_?queue|consumer|consume|` +
		`gomp_thread_start|__kmp_launch_thread|blas_thread_server|next_?(task|job)`)
	loops = regexp.MustCompile(`(?i)work|loop|run|main|thread|execute|operator|lambda|service|background|idle|consum|` +
		`jobs?$|entry|serve|block_until_new_connection|launch|next`)
	notLoops = regexp.MustCompile(`(?i)(wait_?(all|done|idle|for|until|finish|complet|empty)|join|submit|enqueue|stop|` +
		`shutdown|drain|flush|sync|call|invoke|result|block$|add|put|push)`)
	// waitsForWork is a part of a loop of its own, if the loop has called it.
	waitsForWork = regexp.MustCompile(`(?i)^((get|take|next|fetch|pop|poll|` +
		`de_?queue)_?(a_?)?(next_?)?(work|task|job|item)?s?|` +
		`wait_?(for_?)?(work|tasks?|jobs?)|block_until_new_connection)$`)
)

// isLoop reports whether a function is named as the loop of a pool.
func isLoop(f *Frame) bool {
	name, part := plain(f.Function), last(f.Function)
	return pools.MatchString(name) && loops.MatchString(part) && !notLoops.MatchString(part)
}

// scope is what a function is a part of: "ThreadPool::" of "ThreadPool::worker".
func scope(function string) string {
	name := plain(function)
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		return name[:i+1]
	}
	return name
}

// take reports whether the wait is the take of a pool's or a queue's loop. Either the function that waits is known to
// do nothing else. Or it is the thread's own, and takes from a queue of the library. Or its name says that it is a
// pool's loop, and no other loop has called it: then it would be the work of that one.
func (s *sorted) take() bool {
	switch {
	case s.forResult():
		return false
	case s.asio() || s.onlyOf("libtbb.so"):
		return true
	case len(s.rest) == 0:
		return false
	}
	f := s.rest[0]
	switch {
	case poolTakes.MatchString(f.Function):
		return !s.within(nested)
	case s.tokioDriver():
		return true
	case strings.HasPrefix(f.Module, "[CPython") && f.pythonTake():
		return true
	case s.main:
		return false
	case s.managed:
		return len(s.rest) == 1 && (s.took() || isLoop(&f))
	}
	from := 0
	if waitsForWork.MatchString(last(f.Function)) && len(s.rest) > 1 {
		from, f = 1, s.rest[1]
	}
	return isLoop(&f) && s.outermostLoop(from)
}

// pythonTake reports whether a function of Python is the loop of a pool of its standard library.
func (f *Frame) pythonTake() bool {
	dir, file := path.Split(f.File)
	loop := pythonTakes[path.Base(dir)+"/"+file]
	return loop != "" && loop == last(f.Function)
}

// asio reports whether it waits in a loop of Asio, of Boost or not: the loop itself, and no task that it has called.
func (s *sorted) asio() bool {
	for _, list := range [][]Frame{s.inner, s.rest} {
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

// asioWaits are functions of Asio that pass a wait on.
var asioWaits = regexp.MustCompile(`^(boost::)?asio::detail::(posix|conditionally_enabled|std)_event::`)

// onlyOf reports whether a thread has no other code on its stack than that of one library, which starts it. That
// library may be stripped.
func (s *sorted) onlyOf(library string) bool {
	for i := range s.rest {
		if !strings.HasPrefix(s.rest[i].Module, library) {
			return false
		}
	}
	return !s.main && len(s.rest) > 0
}

// tokioDriver reports whether it is the worker of tokio that waits for the next timer for all, by tokio's own park.
func (s *sorted) tokioDriver() bool {
	for i := range s.rest {
		switch f := &s.rest[i]; {
		case i > 0 && poolTakes.MatchString(f.Function):
			return !s.within(nested)
		case !strings.HasPrefix(plain(f.Function), "tokio::runtime::"):
			return false
		}
	}
	return false
}

// within reports whether a function further out than that which waits is one of those.
func (s *sorted) within(those *regexp.Regexp) bool {
	for i := range s.rest[1:] {
		if those.MatchString(s.rest[i+1].Function) {
			return true
		}
	}
	return false
}

// outermostLoop reports whether no function further out is another pool's loop.
func (s *sorted) outermostLoop(from int) bool {
	own, apart := scope(s.rest[from].Function), false
	for i := range s.rest[from+1:] {
		f := &s.rest[from+1+i]
		switch {
		case strings.HasPrefix(f.Function, "std::"): // it calls what it was given
			apart = true
		case isLoop(f) && (apart || !strings.HasPrefix(plain(f.Function), own)):
			return false
		case !isLoop(f):
			apart = true
		}
	}
	return true
}

// eventLoops matches names of functions that wait for whatever happens next.
var eventLoops = regexp.MustCompile(`(?i)event_?base_?loop|event_?loop|main_?loop|main_?context|run_?loop|run_once|` +
	`serve_forever|run_forever|process_?events|event_?dispatcher|(poll|select)_?dispatch|dispatch_?loop|server_?loop|` +
	`reactor|SyncWorker\.wait|^PostmasterMain$|` +
	`\baeApiPoll|\buv_run|uv__io_poll|\bev_run|poll_?loop|select_?loop|io_?loop|SelectorImpl\.|Poller|` +
	`doPoll|doSelect|doIteration|xpoll|runtime\.netpoll`)

// loop gives the rule for a wait in a call that event loops use, and others: the function that waits, or the one that
// has called it, must be such a loop. A program whose main function waits is one.
func (s *sorted) loop() string {
	for i := range s.inner {
		if strings.HasPrefix(s.inner[i].Function, "sun.nio.ch.") {
			switch part := last(s.inner[i].Function); {
			case part == "accept" || part == "implAccept":
				return IdleAccept
			case strings.Contains(s.inner[i].Function, "SelectorImpl."):
				return IdleLoop
			}
		}
	}
	for i := range s.rest[:min(len(s.rest), 2)] {
		f := &s.rest[i]
		if eventLoops.MatchString(plain(f.Function)) || i == 0 && isMain(f) {
			return IdleLoop
		}
	}
	return ""
}

// serverLoops are the functions of PostgreSQL in which its processes wait for work: for a client's next command, or in
// the main loop of a background process. In all others they wait for a lock or for each other.
var serverLoops = regexp.MustCompile(`^(WaitEventSetWait\w*|WaitLatch\w*|secure_read|ServerLoop|\w+Main(Loop)?|` +
	`StartAutoVacLauncher)$`)

// inServer reports whether a process of PostgreSQL waits in the midst of work.
func (s *sorted) inServer() bool {
	passing := false
	for i := range s.rest {
		name := s.rest[i].Function
		if strings.HasPrefix(name, "WaitEventSet") || strings.HasPrefix(name, "WaitLatch") {
			passing = true
			continue
		}
		if passing && name == "" { // a function of its file's own, in a stripped one
			continue
		}
		return passing && !serverLoops.MatchString(name)
	}
	return false
}

// machine are the functions in which threads of a Java virtual machine itself wait for work, helpers those of others.
var machine = regexp.MustCompile(`^(CompileQueue::get|CompileBroker::\w+_loop|(GangWorker|` +
	`WorkerThread|WorkGang)::(loop|run)|` +
	`AbstractGangTask|VMThread::(wait_for_\w+|loop|run|inner_execute)|(\w+::)*(run_service|sleep_before_next_cycle|` +
	`wait_for_\w+|sleeper?_loop|sweeper_loop|possibly_sleep)|\w+::\w+_thread_entry|WatcherThread::(sleep|run)|` +
	`signal_thread_entry|os::signal_wait|JVM_WaitForReferencePendingList|` +
	`SemaphoreGangTaskDispatcher::\w+|Threads::destroy_vm)$`)

var helpers = regexp.MustCompile(`^(node::inspector::.*::StartIoThreadMain|runtime\.sysmon)$`)

// javaMachine are the threads of Java that the machine starts: what collects references.
var javaMachine = regexp.MustCompile(`^(java\.lang\.ref\.Reference\.waitForReferencePendingList|` +
	`java\.lang\.ref\.(Finalizer\$FinalizerThread\.run|NativeReferenceQueue\.\w+|ReferenceQueue\.\w+)|` +
	`java\.lang\.VirtualThread\.(takeVirtualThreadListToUnblock|unblockVirtualThreads)|` +
	`jdk\.internal\.ref\.CleanerImpl\.run)$`)

// ofRuntime reports whether a thread of the run-time system itself waits in its own loop.
func (s *sorted) ofRuntime() bool {
	if len(s.rest) == 0 || s.forResult() {
		return false
	}
	if !s.managed {
		if s.onlyOf("libjemalloc.so") { // a background thread
			return true
		}
		name := plain(s.rest[0].Function)
		return s.rest[0].Module == "libjvm.so" && machine.MatchString(name) || helpers.MatchString(name)
	}
	return javaMachine.MatchString(s.rest[0].Function) && (len(s.rest) == 1 || strings.Contains(s.rest[1].Function,
		"java.lang.ref.") || javaMachine.MatchString(s.rest[1].Function))
}

// launcher reports whether it is the thread that has started a Java virtual machine, and waits for its end.
func (s *sorted) launcher() bool {
	return len(s.rest) > 0 && s.rest[0].Module == "libjli.so"
}

// RulesFile gives a function's source file where the rules go by it, else "".
func RulesFile(module, file string) string {
	if !strings.HasPrefix(module, "[CPython") {
		return ""
	}
	dir, name := path.Split(file)
	for known := range pythonTakes {
		if known == path.Base(dir)+"/"+name {
			return file
		}
	}
	if pythonPassers[name] != nil || strings.HasPrefix(name, "queue") {
		return file
	}
	return ""
}
