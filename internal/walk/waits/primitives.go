// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"slices"
	"strings"
)

type primitive struct {
	kind          Kind
	mode          string
	musl          bool
	unknownLayout bool // not of glibc's layout
	maker         string
}

func (p *primitive) why() string {
	why := ""
	switch p.kind {
	case Condition:
		why = "a condition variable has no owner"
	case Semaphore, Barrier, Atomic, Once, StaticGuard, Park, LibraryLock, Future:
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

var wordPerWaiter = map[string]bool{"parking_lot": true, "abseil": true}

// These functions of libc, C++ and CPython sleep in futex(2).
var libcPrimitives = bySymbol([]symbolsOf{
	{primitive{kind: Mutex}, "pthread_mutex_lock pthread_mutex_lock_full pthread_mutex_timedlock " +
		"pthread_mutex_clocklock pthread_mutex_clocklock_common pthread_mutex_cond_lock pthread_mutex_cond_lock_full"},
	{primitive{kind: RWLock, mode: "read"}, "pthread_rwlock_rdlock pthread_rwlock_timedrdlock " +
		"pthread_rwlock_clockrdlock pthread_rwlock_rdlock_full"},
	{primitive{kind: RWLock, mode: "write"}, "pthread_rwlock_wrlock pthread_rwlock_timedwrlock " +
		"pthread_rwlock_clockwrlock pthread_rwlock_wrlock_full"},
	{primitive{kind: Condition}, "pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait " +
		"pthread_cond_wait_common"},
	{primitive{kind: Join}, "pthread_join pthread_clockjoin_ex pthread_timedjoin_np pthread_clockjoin_np " +
		"pthread_timedjoin_ex"},
	{primitive{kind: Semaphore}, "sem_wait sem_timedwait sem_clockwait new_sem_wait new_sem_wait_slow do_futex_wait " +
		"PyThread_acquire_lock_timed PySemaphore_Wait PySemaphore_PlatformWait"},
	{primitive{kind: Barrier}, "pthread_barrier_wait"},
	{primitive{kind: Once}, "pthread_once pthread_once_slow"},
	{primitive{kind: StaticGuard}, "cxa_guard_acquire"},
})

type symbolsOf struct {
	primitive primitive
	symbols   string
}

func bySymbol(table []symbolsOf) map[string]primitive {
	out := map[string]primitive{}
	for _, row := range table {
		for name := range strings.FieldsSeq(row.symbols) {
			out[name] = row.primitive
		}
	}
	return out
}

// symbol strips leading underscores, version ("@…") and suffix of 64-bit time.
func symbol(function string) string {
	name, _, _ := strings.Cut(function, "@")
	return strings.TrimSuffix(strings.TrimLeft(name, "_"), "64")
}

var libraryLocks = map[string]bool{"lll_lock_wait_private": true, "lll_lock_wait": true}

// Names contain these parts; specific ones are first.
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
	{"thread_parking::", "Rust"}, {"std::thread::thread::Thread>::park", "Rust"}, {"parking_lot_core::", "parking_lot"},
	{"synchronization_internal::", "abseil"}, {"AbslInternalPerThreadSemWait", "abseil"},
}

// Functions with these parts in their names only forward a wait. _L_ are those of glibc before 2.20.
var belowPrimitives = []string{
	"futex", "lll_lock_wait", "lll_mutex_lock", "_L_lock_", "_L_cond_lock_", "_L_timedlock_", "_L_robust_", "timedwait",
	"syscall", "SYSCALL_CP", "asynccancel", "std::sys", "std::thread::park", "parking_lot", "absl::", "AbslInternal",
	"runtime.", "__atomic_wait", "__platform_wait", "__atomic_", "std::atomic", "_Atomic",
}

func isBelowPrimitive(name string) bool {
	return slices.ContainsFunc(belowPrimitives, func(part string) bool { return strings.Contains(name, part) })
}

func weakPrimitive(name, plain string) primitive {
	if libraryLocks[plain] {
		return primitive{kind: LibraryLock, unknownLayout: true}
	}
	for i := range parkers {
		if strings.Contains(name, parkers[i].part) {
			return primitive{kind: Park, unknownLayout: true, maker: parkers[i].maker}
		}
	}
	return primitive{}
}
