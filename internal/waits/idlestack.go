// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"strings"
)

// sorted is a stack by what its functions have to do with a wait.
type sorted struct {
	// inner are those that pass the wait on: the C library's, the language's locks and queues.
	inner []Frame
	// rest are the others, the innermost first: the function that waits, and those that have called it. What starts
	// threads is left out.
	rest []Frame
	// managed: rest is of managed code alone.
	managed bool
	// main: it is the program's first thread.
	main bool
}

// mostRest is how many frames further out than the wait are looked at.
const mostRest = 64

// sortOut sorts the frames of a stack.
func sortOut(stack func(i int) (Frame, bool)) (s sorted) {
	var all []Frame
	for i := 0; i < 8*mostRest; i++ {
		f, ok := stack(i)
		if !ok {
			break
		}
		if f.Module == "[kernel]" {
			continue
		}
		f.Module = path.Base(f.Module)
		all = append(all, f)
	}
	first, outermost := -1, -1 // of managed code
	for i := range all {
		if isManaged(&all[i]) {
			if first < 0 {
				first = i
			}
			outermost = i
		}
	}
	s.managed = first >= 0
	for i := range all {
		f := &all[i]
		switch {
		case s.managed && !isManaged(f) && i > first: // it runs managed code
		case len(s.rest) == 0 && (s.managed && i < first && runsManaged(f) || passesOn(f) && !s.again(f)):
			s.inner = append(s.inner, *f)
		case starts(f):
		case len(s.rest) < mostRest:
			if !s.managed && isMain(f) || s.managed && i == outermost && isManagedMain(f) {
				s.main = true
			}
			s.rest = append(s.rest, *f)
		}
	}
	return s
}

// again reports whether a function is one of Python that waits by a condition's wait, and is no condition itself.
func (s *sorted) again(f *Frame) bool {
	if n := len(s.inner); n > 0 && path.Base(f.File) == "threading.py" {
		return last(f.Function) == "wait" && last(s.inner[n-1].Function) == "wait"
	}
	return false
}

// isManaged reports whether a frame is of managed code.
func isManaged(f *Frame) bool {
	for _, runtime := range []string{"[HotSpot", "[CPython", "[Ruby", "[PHP", "[V8", "[Node", "[.NET"} {
		if strings.HasPrefix(f.Module, runtime) {
			return f.Function != "call_stub" && !strings.HasPrefix(f.Function, "StubRoutines")
		}
	}
	return false
}

// runtimes are the files of run-time systems, and of the parts of them that wait.
var runtimes = regexp.MustCompile(`^(libjvm\.so|libjava\.so|libnio\.so|libnet\.so|` +
	`libpython[\d.]+.*\.so|python[\d.]*$|` +
	`_queue\..*\.so|_thread\..*\.so|libruby.*\.so|ruby[\d.]*$|select\..*\.so|_multiprocessing\..*\.so|` +
	`libc\.so|libc-|libpthread|ld-|libstdc\+\+|\[vdso\])|musl`)

// runsManaged reports whether a native frame inside of managed code is of its run-time system.
func runsManaged(f *Frame) bool {
	return runtimes.MatchString(f.Module) || f.Module == "." || passesOn(f)
}

// libc are files whose functions only pass a wait on.
var libc = regexp.MustCompile(`^(libc\.so|libc-|libpthread|ld-linux|libstdc\+\+|libc\+\+|\[vdso\])|musl`)

// passers are functions that only pass a wait on: locks, conditions and semaphores of libraries and languages.
var passers = regexp.MustCompile(`^_*(pthread_(cond|mutex|rwlock)_\w+|\w*sem_(wait|timedwait|clockwait)\w*|` +
	`futex_\w+|\w*lll_\w*wait\w*|syscall|Syscall6|epoll_p?wait2?|p?poll|p?select6?|` +
	`uv_(cond_wait|cond_timedwait|sem_wait)|uv__(sem_wait|custom_sem_wait)|g_cond_wait(_until)?|` +
	`gomp_(team_|simple_)?barrier_wait\w*|do_(wait|spin|futex_wait)|futex_wait)(@.*|\.\w+)*$|` +
	`^(std|__gnu_cxx|boost|absl|folly)::|^_?Absl|` +
	`^(core|alloc)::|std::sys|parking_lot|std::thread::park|crossbeam_utils::sync::parker|` +
	`^runtime\.(futex\w*|notes?leep\w*|notet?sleep\w*|mPark|lock2?|semasleep)$|^internal/runtime/syscall|` +
	`^QWaitCondition::|^QSemaphore::|^(os::)?Platform(Monitor|Event|Mutex|Parker)::|^Monitor::wait|^PosixSemaphore::|` +
	`^Semaphore::wait|^Parker::park|^Unsafe_Park|^JVM_MonitorWait|^ObjectMonitor::wait|^ObjectSynchronizer::wait`)

// javaPassers are those of Java. Its queues are among them ([queues]).
var javaPassers = regexp.MustCompile(`^((jdk\.internal\.misc|sun\.misc)\.Unsafe\.park|java\.lang\.Object\.wait|` +
	`java\.util\.concurrent\.locks\.|java\.util\.concurrent\.ForkJoinPool\.(un)?(managed|compensated)?[bB]lock|` +
	`sun\.nio\.ch\.|jdk\.internal\.vm\.)`)

// queues are the functions that take what other threads put in.
var queues = regexp.MustCompile(`^java\.util\.concurrent\.(Linked|Array|Priority|Delay|Synchronous)\w*(Queue|Deque)` +
	`(\$\w+)*\.(take|poll|transfer|awaitMatch|awaitFulfill|xfer|takeFirst|takeLast|pollFirst)|` +
	`DelayedWorkQueue\.(take|poll)`)

// pythonPassers are those of Python by source file, in its standard library.
var pythonPassers = map[string]*regexp.Regexp{
	"threading.py": regexp.MustCompile(`(^|\.)(wait|wait_for)$`),
	"queue.py":     regexp.MustCompile(`(^|\.)get$`),
	"queues.py":    regexp.MustCompile(`(^|\.)get$`),
	"selectors.py": regexp.MustCompile(`(^|\.)select$`),
}

// passesOn reports whether a function only passes a wait on.
func passesOn(f *Frame) bool {
	switch {
	case strings.HasPrefix(f.Module, "[HotSpot"):
		return javaPassers.MatchString(f.Function) || queues.MatchString(f.Function)
	case strings.HasPrefix(f.Module, "[CPython"):
		known := pythonPassers[path.Base(f.File)]
		return known != nil && known.MatchString(f.Function)
	}
	return libc.MatchString(f.Module) || passers.MatchString(f.Function)
}

// starters are functions that start threads and programs, and call what they are given.
var starters = regexp.MustCompile(`^(_*clone3?|start_thread|_start|__libc_start\w*|` +
	`thread_native_entry|Thread::call_run|` +
	`JavaThread::\w+|pfs_spawn_thread|g_thread_proxy|QThreadPrivate::start|pythread_wrapper|thread_run|` +
	`java\.lang\.Thread\.(run|runWith)|java\.lang\.VirtualThread\.run|jdk\.internal\.vm\.\S+|` +
	`jdk\.internal\.misc\.InnocuousThread\.run|runtime\.(mstart\w*|mcall|schedule|park_m|goexit\w*))$|` +
	`^std::(thread|__invoke|` +
	`_Bind|__1::__thread)|^(?:\S+ )?std::__1::__thread|Lambda(\$\d+)?(/0x\w+)?\.(run|call|apply|accept|get)$`)

// starts reports whether a function starts a thread, or only calls another.
func starts(f *Frame) bool {
	if strings.HasPrefix(f.Module, "[CPython") && path.Base(f.File) == "threading.py" {
		name := last(f.Function)
		return name == "run" || name == "_bootstrap" || name == "_bootstrap_inner"
	}
	return libc.MatchString(f.Module) || starters.MatchString(f.Function)
}

func isMain(f *Frame) bool { return f.Function == "main" }

// isManagedMain reports whether the outermost managed function is that of a program's first thread.
func isManagedMain(f *Frame) bool {
	return last(f.Function) == "main" || strings.HasPrefix(f.Function, "<module>")
}

// last is the name of a function without what it is a part of.
func last(function string) string {
	name := plain(function)
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		name = name[i+1:]
	}
	return name
}

// plain is a name without arguments: of functions, and of templates.
func plain(function string) string {
	out := make([]byte, 0, len(function))
	depth := 0
	function = strings.ReplaceAll(function, "(anonymous namespace)", "{anonymous}")
	if strings.HasSuffix(function, "operator()") {
		function = strings.TrimSuffix(function, "operator()") + "operator"
	}
	for i := range len(function) {
		switch c := function[i]; c {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		default:
			if depth <= 0 {
				out = append(out, c)
			}
		}
	}
	return string(out)
}
