// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"cmp"
	"regexp"
	"slices"

	"prywalk/internal/base/languages"
)

// PoolWorker is what a pool worker's stack shows. A pool is possibly starved if all its workers wait for tasks'
// results: stacks do not show the queue of those tasks.
type PoolWorker struct {
	// Loop is the pool's loop, or "".
	Loop string
	// Result is the function that waits for a task's result, or "".
	Result string
}

var nativeResult = regexp.MustCompile(`^std::(__1::)?(__)?(basic_|shared_)?(future|__basic_future)\b.*::(get|wait)$|` +
	`^std::__future_base::|_M_get_result`)

// StackRule is what a waiting thread's stack says of the thread.
type StackRule struct {
	Idleness
	Pooled bool // in the loop of a pool of threads
	// AwaitsResult means that it waits for a task's result, in a pool's loop or not.
	AwaitsResult bool
	// AwaitsConnection means that it waits for a free connection of a pool.
	AwaitsConnection bool
}

// StackRuleOf has the arguments of [Idle].
func StackRuleOf(reason string, kind Kind, stack []Frame) StackRule {
	s := splitStack(stack)
	return StackRule{Idle(reason, kind, stack), s.poolLoop() != "", s.result() != "", s.awaitsConnection()}
}

func (s *waitingStack) awaitsConnection() bool {
	if len(s.outer) == 0 {
		return false
	}
	l := s.outer[0].language()
	return s.takesFromQueue() && // others wait for a pool's own lock only
		l != nil && l.Waits.Connects != nil && l.Waits.Connects(s.outer[0].Function, s.outer[0].File)
}

// PoolWorkerOf returns what a stack, innermost function first, shows; zero outside of a pool's loop.
func PoolWorkerOf(stack []Frame) (w PoolWorker) {
	s := splitStack(stack)
	if w.Loop = s.poolLoop(); w.Loop != "" {
		w.Result = s.result()
	}
	return w
}

// poolLoop returns the outermost pool's loop, or "".
func (s *waitingStack) poolLoop() (loop string) {
	for i := range s.outer {
		f := &s.outer[i]
		if l := f.language(); l != nil && l.Waits.Pool != nil {
			loop = cmp.Or(l.Waits.Pool(f.Function, f.File), loop)
		} else if !s.managed && isLoop(f) {
			loop = languages.WithoutArguments(f.Function)
		}
	}
	return loop
}

// result names the function that waits for a task's result, or is "".
func (s *waitingStack) result() string {
	if r := s.managedResult(); r != "" || s.managed {
		return r
	}
	if slices.ContainsFunc(s.inner, func(f Frame) bool { return nativeResult.MatchString(f.Function) }) {
		return "std::future"
	}
	return ""
}

func (s *waitingStack) managedResult() (result string) {
	for i := range s.outer {
		f := &s.outer[i]
		l := f.language()
		if l == nil || l.Waits.Result == nil {
			return result
		}
		name, more := l.Waits.Result(f.Function, f.File)
		if name != "" {
			result = name
		}
		if !more {
			return result
		}
	}
	return result
}
