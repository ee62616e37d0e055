// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"strings"
)

// # Starved pools
//
// A pool whose workers all wait for results of tasks is starved if the tasks are queued in the pool itself: none of its
// threads is left to run them. Stacks show that a thread is a worker of a pool, and that it waits for a result. They
// do not show in which pool's queue the task is. So such a pool is possibly starved, and not proven to be.

// Work is what the stack of a pool's worker shows.
type Work struct {
	// Loop is the pool's loop; "" if the thread is no pool's.
	Loop string
	// Result is the function in which it waits for the result of a task; "" if it does not.
	Result string
}

// javaLoops are the loops of pools of Java, javaResults the functions that wait for results.
var (
	javaLoops   = regexp.MustCompile(`(^|\.)(ThreadPoolExecutor\.runWorker|ForkJoinPool\.runWorker)$`)
	javaResults = regexp.MustCompile(`^java\.util\.concurrent\.(FutureTask\.get|CompletableFuture\.(get|join)|` +
		`ForkJoinTask\.(get|join|invoke|quietlyJoin)|AbstractExecutorService\.invoke(All|Any))$`)
	nativeResult = regexp.MustCompile(`^std::(__1::)?(__)?(basic_|shared_)?(future|__basic_future)\b.*::(get|wait)$|` +
		`^std::__future_base::|_M_get_result`)
)

// WorkOf tells whether a thread is a worker of a pool, and waits for a result.
func WorkOf(stack func(i int) (Frame, bool)) (w Work) {
	s := sortOut(stack)
	for i := range s.inner {
		if !s.managed && nativeResult.MatchString(s.inner[i].Function) {
			w.Result = "std::future"
		}
	}
	if r := s.managedResult(); r != "" {
		w.Result = r
	}
	for i := range s.rest {
		f := &s.rest[i]
		switch {
		case strings.HasPrefix(f.Module, "[HotSpot"):
			if javaLoops.MatchString(f.Function) {
				w.Loop = f.Function
			}
		case strings.HasPrefix(f.Module, "[CPython"):
			if f.pythonTake() {
				w.Loop = f.Function + " of " + path.Base(path.Dir(f.File)) + "." + strings.TrimSuffix(path.Base(f.File), ".py")
			}
		case !s.managed && isLoop(f):
			w.Loop = plain(f.Function)
		}
	}
	if w.Loop == "" {
		w.Result = ""
	}
	return w
}

// managedResult gives the function of a managed library in which a thread waits for a result. Only functions of that
// library lie further in.
func (s *sorted) managedResult() (result string) {
	for i := range s.rest {
		f := &s.rest[i]
		switch {
		case strings.HasPrefix(f.Module, "[CPython"):
			if name := last(f.Function); i == 0 && path.Base(f.File) == "_base.py" && (name == "result" || name == "exception") {
				return "Future." + name
			}
			return ""
		case !strings.HasPrefix(f.Function, "java.util.concurrent."):
			return result
		case javaResults.MatchString(f.Function):
			result = f.Function
		}
	}
	return result
}
