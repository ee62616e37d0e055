// SPDX-License-Identifier: Apache-2.0

package managed

import "prywalk/internal/languages"

// Threads is a Namer that knows more of its threads. IDs are of the process's own pid namespace. See [NoThreads].
type Threads interface {
	Namer
	// ThreadName gives the program's name of a thread (the kernel's is cut at 15 characters or unset), or false. It
	// is called about once a second for each thread, so lists should be cached.
	ThreadName(tid int) (name string, ok bool)
	// Postponed reports whether a query since its last call may succeed later, as while objects are moved.
	Postponed() bool
	// Role gives the role of a thread with a displayed name: "application", or one of the run-time system's; false if
	// unknown.
	Role(tid int, name string) (role string, ok bool)
	// Waiting gives what a thread in futex(2) waits for, or false if unproven. It is called for each new sleep.
	Waiting(s *Sleeper) (Wait, bool)
	// Holds gives the locks whose blocks the last walk's frames are inside of. The thread must not have run since.
	Holds() []Held
	// Coroutines gives the current tasks without a thread, at most [MostTasks], each in a consistent reading
	// ([Task.Proven]).
	Coroutines(w Watch) TaskList
}

// NoThreads is embedded by Threads without these answers.
type NoThreads struct{}

// ThreadName implements [Threads].
func (NoThreads) ThreadName(int) (name string, ok bool) { return "", false }

// Postponed implements [Threads].
func (NoThreads) Postponed() bool { return false }

// Role implements [Threads].
func (NoThreads) Role(int, string) (role string, ok bool) { return "", false }

// Waiting implements [Threads].
func (NoThreads) Waiting(*Sleeper) (w Wait, ok bool) { return w, false }

// Holds implements [Threads].
func (NoThreads) Holds() []Held { return nil }

// Coroutines implements [Threads].
func (NoThreads) Coroutines(Watch) (list TaskList) { return list }

// The roles of threads.
const (
	RoleApplication = languages.RoleApplication
	RoleGC          = languages.RoleGC
	RoleCompiler    = languages.RoleCompiler
	RoleMachine     = languages.RoleMachine
)
