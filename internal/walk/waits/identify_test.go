// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"slices"
	"strings"
	"testing"

	"prywalk/internal/base/languages"
)

const conditionWait = "Condition.wait"

const python = "/usr/lib/libpython3.11.so.1.0"

func TestSemaphoresOfCPythonAreNamedByTheirLock(t *testing.T) {
	code := func(function string) StackFunction { return StackFunction{function, "[CPython 3.11.7]"} }
	sem := stack("__futex_abstimed_wait_common64", "__new_sem_wait_slow64")
	with := func(inner []StackFunction, outer ...StackFunction) []StackFunction {
		return append(slices.Clone(inner), outer...)
	}
	acquire := with(sem, StackFunction{cpythonAcquire, python}, StackFunction{acquireTimed, python})
	lock := StackFunction{acquireLock, python}
	for name, c := range map[string]struct {
		stack []StackFunction
		want  string
		label string
	}{
		"other": {with(sem, StackFunction{"work", "/prog"}), "", "semaphore 0x1000"},
		"lock":  {with(acquire, lock, code("work")), languages.PythonLock, "semaphore 0x1000 (threading.Lock)"},
		"rlock": {with(acquire, StackFunction{acquireRLock, python}), "threading.RLock",
			"semaphore 0x1000 (threading.RLock)"},
		"condition": {with(acquire, lock, code(conditionWait)), languages.PythonCondition,
			"semaphore 0x1000 (threading.Condition)"},
		"outer condition": {with(acquire, lock, code("work"), code(conditionWait)), languages.PythonLock,
			"semaphore 0x1000 (threading.Lock)"},
		"far": {with(acquire, append(append([]StackFunction{lock}, make([]StackFunction, MaxFunctions)...),
			code(conditionWait))...), languages.PythonCondition, "semaphore 0x1000 (threading.Condition)"},
		"stripped": {with(acquire[:3], StackFunction{"", python}, StackFunction{"PyObject_Vectorcall", python}),
			languages.UnknownPythonLock, "semaphore 0x1000 (lock of CPython)"},
		"stripped, in a condition": {with(acquire[:3], StackFunction{"", python}, code(conditionWait)),
			languages.PythonCondition, "semaphore 0x1000 (threading.Condition)"},
	} {
		w := Describe(&Sleeper{State: 'S', Reason: "futex", InCall: true, Stack: c.stack,
			Args: [6]uint64{0x1000, 128 + 9 + 256, 0}})
		if w.Kind != Semaphore || w.Type != c.want || w.Label() != c.label {
			t.Errorf("%s: %s of %q, label %s", name, w.Kind, w.Type, w.Label())
		}
		if l := ParseLabel(w.Label()); l.String() != w.Object() {
			t.Errorf("%s: %s, %s", name, l.String(), w.Object())
		}
	}
}

func TestSemaphoresOfCPythonNeedNoNamesOfLibc(t *testing.T) {
	const libc = "/lib/libc.so.6"
	for function, want := range map[string]string{
		cpythonAcquire: languages.UnknownPythonLock, "_PySemaphore_Wait": "", "_PySemaphore_PlatformWait": "",
	} {
		w := Describe(&Sleeper{State: 'S', Reason: "futex", InCall: true,
			Stack: []StackFunction{{"", libc}, {"", libc}, {function, python}, {"", python}},
			Args:  [6]uint64{0x1000, 128 + 9 + 256, 0}})
		if w.Kind != Semaphore || w.Type != want {
			t.Errorf("%s: %s of %q", function, w.Kind, w.Type)
		}
	}
}

func TestALockNamedByTheRuntimeIsAConditionWithinItsWait(t *testing.T) {
	for function, want := range map[string]string{
		"work": languages.PythonLock, conditionWait: languages.PythonCondition,
	} {
		w := Describe(&Sleeper{State: 'S', Reason: "futex", InCall: true, Args: [6]uint64{0x1000, 128 + 9 + 256, 0},
			Stack:   []StackFunction{{"_PySemaphore_Wait", python}, {function, "[CPython 3.14.0]"}},
			Managed: func() (Wait, bool) { return ManagedWait(Semaphore, languages.PythonLock, 0x2000, 0, false), true }})
		if w.Type != want || w.String() != want+" (semaphore 0x2000) (stores no owner)" ||
			w.Label() != "semaphore 0x2000 ("+want+")" {
			t.Errorf("%s: %s, label %s", function, w.String(), w.Label())
		}
	}
}

func TestLabelsOfRustAndAbseilWithoutInlinedCalls(t *testing.T) {
	for function, want := range map[string]string{
		"parking_lot::raw_mutex::RawMutex::lock_slow": "mutex", "absl::CondVar::WaitCommon": "condition",
		"<std::sys::sync::mutex::futex::Mutex>::lock_contended": "mutex 0x1000",
		"<std::thread::thread::Thread>::park":                   "park 0x1000",
	} {
		w := Describe(&Sleeper{State: 'S', Reason: "futex", InCall: true, Stack: stack("syscall", function, "work"),
			Args: [6]uint64{0x1000, 128 + 9, 0}})
		if w.Label() != want {
			t.Errorf("%s: label %q, want %q", function, w.Label(), want)
		}
	}
}

func TestASemaphoreIsDecidedBeyondItsFunctions(t *testing.T) {
	names := stack("__futex_abstimed_wait_common64", "__new_sem_wait_slow64")
	for _, next := range []string{cpythonAcquire, acquireWithRetries, acquireTimed, acquireLock} {
		if IsIdentified(names) {
			t.Errorf("decided before %s", next)
		}
		names = append(names, StackFunction{next, python})
	}
	if !IsIdentified(names) || !IsIdentified(stack("do_futex_wait", "sem_wait", "work")) ||
		!IsIdentified(stack("pthread_cond_wait", "work")) {
		t.Error("undecided")
	}
}

// After the thread has run, only the stack shows the wait.
func TestConditionsOfHotSpotAreNamedByTheirUse(t *testing.T) {
	for function, want := range map[string]Kind{
		"ObjectMonitor::EnterI": Monitor, "ObjectMonitor::enter_internal": Monitor, "ObjectMonitor::ReenterI": Monitor,
		"ObjectMonitor::wait": ObjectWait, "Parker::park": Park, "JavaThread::sleep": Sleep, "Monitor::wait": Condition,
	} {
		names := stack("__futex_abstimed_wait_common", "pthread_cond_timedwait")
		for _, outer := range []string{"os::PlatformEvent::park", function} {
			if IsIdentified(names) {
				t.Errorf("%s: decided by %v", function, names)
			}
			names = append(names, StackFunction{outer, "/jvm/lib/server/libjvm.so"})
		}
		w := Describe(&Sleeper{State: 'S', Reason: "futex", InCall: true, Stack: names,
			Args: [6]uint64{0x1000, 128 + 9, 0, 1}})
		label := string(want)
		if want == Condition {
			label = "condition 0x1000"
		}
		if w.Kind != want || w.Label() != label || w.Timed == (want == Monitor) || !IsIdentified(names) {
			t.Errorf("%s: %+v, label %s", function, w, w.Label())
		}
	}
	elsewhere := append(stack("pthread_cond_wait"), StackFunction{"ObjectMonitor::wait", "/app"})
	if kind, decided := hotspotWait(elsewhere); kind != NoWait || !decided {
		t.Errorf("outside libjvm: %q, %v", kind, decided)
	}
}

func TestHowLongASleepIs(t *testing.T) {
	for until, want := range map[string]string{
		"": "sleeps (duration not known)", "for 1h0m0s": "sleeps; asked for 1h0m0s",
		"for 3s more":                "sleeps for 3s more",
		"until 2026-01-01T00:00:00Z": "sleeps until 2026-01-01T00:00:00Z",
	} {
		if got := (&Wait{Kind: Sleep, Until: until}).SleepText(); got != want {
			t.Errorf("%q: %s", until, got)
		}
	}
}

func TestFilesOfTheSystem(t *testing.T) {
	for _, file := range strings.Fields("libc.so.6 libc-2.31.so libc.so libc.musl-x86_64.so.1 libm.so.6 libm-2.31.so " +
		"libpthread.so.0 libpthread-2.31.so libdl.so.2 libdl-2.31.so ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 " +
		"ld-linux.so.2 ld-2.31.so ld64.so.2 ld-musl-x86_64.so.1 libstdc++.so.6.0.30 libc++.so.1 libc++abi.so.1 " +
		"libgcc_s.so.1 libgcc_s-8-20210514.so.1 [vdso] [kernel]") {
		if !systemFiles.MatchString(file) {
			t.Errorf("%s is an application's", file)
		}
	}
	for _, file := range strings.Fields("libdlib.so.19 libc-client.so.2007e libpthreadpool.so libm-app.so ld-service " +
		"muslim-calendar libc++tools.so libgcc_smith.so") {
		if systemFiles.MatchString(file) {
			t.Errorf("%s is the system's", file)
		}
	}
	for file, want := range map[string]bool{"/lib/ld-musl-x86_64.so.1": true, "/lib/libc.musl-x86_64.so.1": true,
		"/usr/lib/x86_64-linux-musl/libc.so": true, "/opt/musl/bin/app": false, "/usr/bin/muslim-calendar": false,
		"/lib/libc.so.6": false, "/system/lib64/libc.so": false} {
		if isMusl(file) != want {
			t.Errorf("%s: %v", file, !want)
		}
	}
}
