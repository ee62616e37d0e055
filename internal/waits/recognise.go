// SPDX-License-Identifier: Apache-2.0

package waits

import "strings"

// Name is a function of a stack, and its file.
type Name struct{ Function, Module string }

// MostNames bounds the examined innermost functions, with inlined calls.
const MostNames = 14

// primitive is what a thread waits for, by its innermost functions.
type primitive struct {
	kind    Kind
	mode    string // of a rwlock
	musl    bool
	foreign bool
	maker   string
}

// why gives the reason for a missing owner.
func (p *primitive) why() string {
	why := ""
	switch p.kind {
	case Condition:
		why = "a condition variable has no owner"
	case Semaphore, Barrier, Atomic, Once, Guard, Park, LibraryLock, Future:
		why = "stores no owner"
		if p.maker != "" {
			why = p.maker + " stores no owner"
		}
	default:
		if p.maker != "" {
			why = p.maker + " stores no owner of it"
		}
	}
	if wordPerWaiter[p.maker] {
		why += ", and each waiter sleeps at a word of its own"
	}
	return why
}

// wordPerWaiter are those with a futex word for each waiter.
var wordPerWaiter = map[string]bool{"parking_lot": true, "abseil": true}

// libcPrimitives are those of libc and C++ that sleep in futex(2), without leading underscores.
var libcPrimitives = map[string]primitive{
	"pthread_mutex_lock": {kind: Mutex}, "pthread_mutex_lock_full": {kind: Mutex},
	"pthread_mutex_timedlock": {kind: Mutex}, "pthread_mutex_clocklock": {kind: Mutex},
	"pthread_mutex_clocklock_common": {kind: Mutex}, "pthread_mutex_cond_lock": {kind: Mutex},
	"pthread_mutex_cond_lock_full": {kind: Mutex},
	"pthread_rwlock_rdlock":        {kind: RWLock, mode: "read"}, "pthread_rwlock_timedrdlock": {kind: RWLock,
		mode: "read"},
	"pthread_rwlock_clockrdlock": {kind: RWLock, mode: "read"}, "pthread_rwlock_rdlock_full": {kind: RWLock, mode: "read"},
	"pthread_rwlock_wrlock": {kind: RWLock, mode: "write"}, "pthread_rwlock_timedwrlock": {kind: RWLock, mode: "write"},
	"pthread_rwlock_clockwrlock": {kind: RWLock, mode: "write"}, "pthread_rwlock_wrlock_full": {kind: RWLock,
		mode: "write"},
	"pthread_cond_wait": {kind: Condition}, "pthread_cond_timedwait": {kind: Condition},
	"pthread_cond_clockwait": {kind: Condition}, "pthread_cond_wait_common": {kind: Condition},
	"pthread_join": {kind: Join}, "pthread_clockjoin_ex": {kind: Join}, "pthread_timedjoin_np": {kind: Join},
	"pthread_clockjoin_np": {kind: Join}, "pthread_timedjoin_ex": {kind: Join},
	"sem_wait": {kind: Semaphore}, "sem_timedwait": {kind: Semaphore}, "sem_clockwait": {kind: Semaphore},
	"new_sem_wait": {kind: Semaphore}, "new_sem_wait_slow": {kind: Semaphore}, "do_futex_wait": {kind: Semaphore},
	"pthread_barrier_wait": {kind: Barrier},
	"pthread_once":         {kind: Once}, "pthread_once_slow": {kind: Once},
	"cxa_guard_acquire": {kind: Guard},
}

var libraryLocks = map[string]bool{"lll_lock_wait_private": true, "lll_lock_wait": true}

// libraryPrimitives are parts of names of other libraries, more specific ones first.
var libraryPrimitives = []struct {
	part string
	primitive
}{
	{"sync::mutex::futex", primitive{kind: Mutex, maker: "Rust"}},
	{"futex_mutex::Mutex", primitive{kind: Mutex, maker: "Rust"}},
	{"sync::rwlock::futex", primitive{kind: RWLock, maker: "Rust"}},
	{"futex_rwlock::RwLock", primitive{kind: RWLock, maker: "Rust"}},
	{"sync::condvar::futex", primitive{kind: Condition, maker: "Rust"}},
	{"futex_condvar::Condvar", primitive{kind: Condition, maker: "Rust"}},
	{"sync::once::futex", primitive{kind: Once, maker: "Rust"}},
	{"parking_lot::raw_mutex", primitive{kind: Mutex, maker: "parking_lot"}},
	{"parking_lot::raw_rwlock", primitive{kind: RWLock, maker: "parking_lot"}},
	{"parking_lot::condvar", primitive{kind: Condition, maker: "parking_lot"}},
	{"Mutex::LockSlow", primitive{kind: Mutex, maker: "abseil"}},
	{"CondVar::WaitCommon", primitive{kind: Condition, maker: "abseil"}},
	{"runtime.lock2", primitive{kind: Mutex, maker: "Go's run-time system"}},
	{"std::__atomic_futex_unsigned", primitive{kind: Future}},
	{"std::__atomic_wait", primitive{kind: Atomic}},
	{"std::__detail::__platform_wait", primitive{kind: Atomic}},
	{"std::__atomic_base", primitive{kind: Atomic}},
}

var parkers = []struct{ part, maker string }{
	{"runtime.futexsleep", "Go's run-time system"}, {"runtime.futex", "Go's run-time system"},
	{"thread_parking::", "Rust"}, {"parking_lot_core::", "parking_lot"},
	{"synchronization_internal::", "abseil"}, {"AbslInternalPerThreadSemWait", "abseil"},
}

// belowPrimitives are parts of names of functions that merely forward a wait.
var belowPrimitives = []string{
	"futex", "lll_lock_wait", "lll_mutex_lock", "timedwait", "syscall", "SYSCALL_CP", "asynccancel",
	"std::sys", "std::thread::park", "parking_lot", "absl::", "AbslInternal", "runtime.",
	"__atomic_wait", "__platform_wait", "__atomic_", "std::atomic", "_Atomic",
}

// recognise finds what a thread waits for. The innermost known function decides, below forwarding functions only:
// malloc's lock is not the mutex under which malloc was called. musl's inner functions have no or wrong names.
func recognise(stack []Name) primitive {
	p, _ := decide(stack)
	return p
}

// IsDecided reports whether outer functions cannot change the result.
func IsDecided(stack []Name) bool {
	_, done := decide(stack)
	return done
}

func decide(stack []Name) (p primitive, done bool) {
	musl := false
	for i := range stack[:min(len(stack), MostNames)] {
		n := &stack[i]
		name, _, _ := strings.Cut(n.Function, "@")
		plain := strings.TrimSuffix(strings.TrimLeft(name, "_"), "64")
		musl = musl || strings.Contains(n.Module, "musl") || strings.HasPrefix(plain, "timedwait")
		if found, ok := libcPrimitives[plain]; ok {
			found.musl = musl
			found.foreign = musl && found.kind != Mutex && found.kind != RWLock
			return found, found.kind != Semaphore || semaphoreDecided(stack[i:], len(stack) >= MostNames)
		}
		for j := range libraryPrimitives {
			if strings.Contains(name, libraryPrimitives[j].part) {
				p = libraryPrimitives[j].primitive
				p.foreign = true
				return p, true
			}
		}
		if p.kind == None {
			p = weakPrimitive(name, plain)
		}
		inside := n.Module == stack[0].Module && (name == "" || strings.Contains(n.Module, "musl"))
		if !inside && !isBelowPrimitive(name) {
			return p, true
		}
	}
	return p, len(stack) >= MostNames
}

// Functions of CPython that wait for a lock at a semaphore (Python/thread_pthread.h, Modules/_threadmodule.c).
// Condition.wait of threading waits for a lock of its own that another thread releases to wake it.
const (
	acquireOfCPython = "PyThread_acquire_lock_timed"
	acquireTimed     = "acquire_timed"
	acquireLock      = "lock_PyThread_acquire_lock"
	acquireRLock     = "rlock_acquire"
)

// Classes of Python made of a lock of CPython, and the method that waits in a condition.
const (
	LockOfPython      = "threading.Lock"
	ConditionOfPython = "threading.Condition"
	ConditionWait     = "Condition.wait"
)

// lockOfCPython names what a semaphore of CPython is part of; "" for other semaphores. Without the inner symbols of
// CPython only that it is a lock of CPython is known. The stack may go on with Python code beyond [MostNames].
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

// semaphoreDecided reports whether outer functions cannot change what a semaphore is part of. stack begins with the
// function of the semaphore.
func semaphoreDecided(stack []Name, whole bool) bool {
	for i := range stack {
		name := stack[i].Function
		_, ofLibc := libcPrimitives[strings.TrimSuffix(strings.TrimLeft(name, "_"), "64")]
		if !ofLibc && name != acquireOfCPython && name != acquireTimed {
			return true
		}
	}
	return whole
}

func isBelowPrimitive(name string) bool {
	for _, p := range belowPrimitives {
		if strings.Contains(name, p) {
			return true
		}
	}
	return false
}

// weakPrimitive recognizes functions that other primitives use.
func weakPrimitive(name, plain string) primitive {
	if libraryLocks[plain] {
		return primitive{kind: LibraryLock, foreign: true}
	}
	for i := range parkers {
		if strings.Contains(name, parkers[i].part) {
			return primitive{kind: Park, foreign: true, maker: parkers[i].maker}
		}
	}
	return primitive{}
}
