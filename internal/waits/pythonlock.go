// SPDX-License-Identifier: Apache-2.0

package waits

import "strings"

// CPython's functions that wait for a lock at a semaphore (Python/thread_pthread.h, Modules/_threadmodule.c).
const (
	acquireOfCPython = "PyThread_acquire_lock_timed"
	acquireTimed     = "acquire_timed"
	acquireLock      = "lock_PyThread_acquire_lock"
	acquireRLock     = "rlock_acquire"
)

// Classes made of a lock of CPython, and the method that waits in a condition: for a lock that another thread releases.
const (
	LockOfPython      = "threading.Lock"
	ConditionOfPython = "threading.Condition"
	ConditionWait     = "Condition.wait"
)

// lockOfCPython names what a semaphore of CPython is part of, or "": without CPython's inner symbols "lock of CPython".
// The stack may go on beyond [MaxNames].
func lockOfCPython(stack []Name) (what string) {
	for i := range stack {
		switch name := stack[i].Function; {
		case name == acquireOfCPython:
			what = "lock of CPython"
		case what == "":
		case name == acquireLock:
			what = LockOfPython
		case name == acquireRLock:
			return "threading.RLock"
		case name == ConditionWait && strings.HasPrefix(stack[i].Module, "[CPython "):
			return ConditionOfPython
		case strings.HasPrefix(stack[i].Module, "["): // Python code
			return what
		}
	}
	return what
}

// semaphoreDecided reports whether outer functions cannot change the result of [lockOfCPython]. stack begins with the
// semaphore's function.
func semaphoreDecided(stack []Name) bool {
	for i := range stack {
		name := stack[i].Function
		_, ofLibc := libcPrimitives[symbol(name)]
		if !ofLibc && name != acquireOfCPython && name != acquireTimed {
			return true
		}
	}
	return false
}
