// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"cmp"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
)

// CPython's functions that wait for a lock at a semaphore (Python/thread_pthread.h, Modules/_threadmodule.c). Which
// releases have such locks is in holds.go of package cpython, which names the other ones.
const (
	cpythonAcquire     = "PyThread_acquire_lock_timed"
	acquireWithRetries = "PyThread_acquire_lock_timed_with_retries" // 3.13
	acquireTimed       = "acquire_timed"
	acquireLock        = "lock_PyThread_acquire_lock"
	acquireRLock       = "rlock_acquire"
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
			return lockWithin(what, &stack[i])
		}
	}
	return what
}

// setLockWithin sets the type of a lock that a runtime names.
func (w *Wait) setLockWithin(stack []StackFunction) {
	i := slices.IndexFunc(stack, func(f StackFunction) bool { return strings.HasPrefix(f.Module, "[") })
	if w.Kind == Semaphore && i >= 0 {
		w.Type = lockWithin(w.Type, &stack[i])
	}
}

func lockWithin(lockType string, f *StackFunction) string {
	if l := languages.OfMapping(f.Module); l != nil && l.Waits.LockWithin != nil {
		return cmp.Or(l.Waits.LockWithin(lockType, f.Function), lockType)
	}
	return lockType
}

// isSemaphoreIdentified reports whether outer native functions cannot change what a semaphore is, with whose function
// stack begins.
func isSemaphoreIdentified(stack []StackFunction) bool {
	for i := range stack {
		name := stack[i].Function
		_, ofLibc := libcPrimitives[symbol(name)]
		if !ofLibc && name != acquireWithRetries && name != acquireTimed {
			return true
		}
	}
	return false
}
