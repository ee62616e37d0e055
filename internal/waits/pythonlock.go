// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"cmp"
	"strings"

	"prywalk/internal/languages"
)

// CPython's functions that wait for a lock at a semaphore (Python/thread_pthread.h, Modules/_threadmodule.c).
const (
	cpythonAcquire = "PyThread_acquire_lock_timed"
	acquireTimed   = "acquire_timed"
	acquireLock    = "lock_PyThread_acquire_lock"
	acquireRLock   = "rlock_acquire"
)

// cpythonLock names what a semaphore is part of, "" if it is not CPython's. The stack may be cut at [MaxFunctions].
func cpythonLock(stack []StackFunction) (what string) {
	for i := range stack {
		switch name := stack[i].Function; {
		case name == cpythonAcquire:
			what = languages.UnknownPythonLock
		case what == "":
		case name == acquireLock:
			what = languages.PythonLock
		case name == acquireRLock:
			return languages.PythonRLock
		case strings.HasPrefix(stack[i].Module, "["): // Python code
			if l := languages.OfMapping(stack[i].Module); l != nil && l.LockWithin != nil {
				return cmp.Or(l.LockWithin(what, name), what)
			}
			return what
		}
	}
	return what
}

// isSemaphoreIdentified reports whether outer functions cannot change what a semaphore is, with whose function stack
// begins.
func isSemaphoreIdentified(stack []StackFunction) bool {
	for i := range stack {
		name := stack[i].Function
		_, ofLibc := libcPrimitives[symbol(name)]
		if !ofLibc && name != cpythonAcquire && name != acquireTimed {
			return true
		}
	}
	return false
}
