// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"slices"
	"testing"
)

const python = "/usr/lib/libpython3.11.so.1.0"

func TestSemaphoresOfCPythonAreNamedByTheirLock(t *testing.T) {
	code := func(function string) Name { return Name{function, "[CPython 3.11.7]"} }
	sem := stack("__futex_abstimed_wait_common64", "__new_sem_wait_slow64")
	with := func(inner []Name, outer ...Name) []Name { return append(slices.Clone(inner), outer...) }
	acquire := with(sem, Name{acquireOfCPython, python}, Name{acquireTimed, python})
	lock := Name{acquireLock, python}
	for name, c := range map[string]struct {
		stack []Name
		want  string
		label string
	}{
		"other": {with(sem, Name{"work", "/prog"}), "", "semaphore 0x1000"},
		"lock":  {with(acquire, lock, code("work")), LockOfPython, "semaphore 0x1000 (threading.Lock)"},
		"rlock": {with(acquire, Name{acquireRLock, python}), "threading.RLock", "semaphore 0x1000 (threading.RLock)"},
		"condition": {with(acquire, lock, code(ConditionWait)), ConditionOfPython,
			"semaphore 0x1000 (threading.Condition)"},
		"outer condition": {with(acquire, lock, code("work"), code(ConditionWait)), LockOfPython,
			"semaphore 0x1000 (threading.Lock)"},
		"far": {with(acquire, append(append([]Name{lock}, make([]Name, MaxNames)...), code(ConditionWait))...),
			ConditionOfPython, "semaphore 0x1000 (threading.Condition)"},
		"stripped": {with(acquire[:3], Name{"", python}, Name{"PyObject_Vectorcall", python}), "lock of CPython",
			"semaphore 0x1000 (lock of CPython)"},
	} {
		w := Describe(&Sleeper{State: 'S', Wait: "futex", InCall: true, Stack: c.stack,
			Args: [6]uint64{0x1000, 128 + 9 + 256, 0}})
		if w.Kind != Semaphore || w.Type != c.want || w.Label() != c.label {
			t.Errorf("%s: %s of %q, label %s", name, w.Kind, w.Type, w.Label())
		}
		if shown := Shown(w.Label()); shown != w.Thing() {
			t.Errorf("%s: %s, %s", name, shown, w.Thing())
		}
	}
}

// A recording names no more functions than it needs: of a semaphore also the one that waits at it.
func TestASemaphoreIsDecidedBeyondItsFunctions(t *testing.T) {
	names := stack("__futex_abstimed_wait_common64", "__new_sem_wait_slow64")
	for _, next := range []string{acquireOfCPython, acquireTimed, acquireLock} {
		if IsDecided(names) {
			t.Errorf("decided before %s", next)
		}
		names = append(names, Name{next, python})
	}
	if !IsDecided(names) || !IsDecided(stack("do_futex_wait", "sem_wait", "work")) ||
		!IsDecided(stack("pthread_cond_wait")) {
		t.Error("undecided")
	}
}

func TestHowLongASleepIs(t *testing.T) {
	for until, want := range map[string]string{
		"": "sleeps (duration not known)", "for 1h0m0s": "sleeps; asked for 1h0m0s", "for 3s more": "sleeps for 3s more",
		"until 2026-01-01T00:00:00Z": "sleeps until 2026-01-01T00:00:00Z",
	} {
		if got := (&Wait{Kind: Sleep, Until: until}).Sleeping(); got != want {
			t.Errorf("%q: %s", until, got)
		}
	}
}
