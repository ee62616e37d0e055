// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

func pythonWait(functions ...string) *profile.Sample {
	s := &profile.Sample{Label: map[string][]string{rec.LabelState: {"sleeping"}, rec.LabelWait: {"futex"},
		rec.LabelWaitsFor: {"semaphore 0x10 (threading.Lock)"}}}
	add := func(function, file string) {
		s.Location = append(s.Location, &profile.Location{Mapping: &profile.Mapping{File: "[CPython]"},
			Line: []profile.Line{{Function: &profile.Function{Name: function, Filename: file}}}})
	}
	for _, f := range functions {
		add(f, "/usr/lib/python3.11/threading.py")
	}
	add("worker", "/srv/app.py")
	return s
}

// The thread takes the condition's own lock again, after a notification.
func TestLockOfAConditionIsNamedByTheInnermostFunction(t *testing.T) {
	for want, functions := range map[string][]string{
		"futex: threading.Lock in worker":      {"Condition._acquire_restore", "Condition.wait"},
		"futex: threading.Condition in worker": {"Condition.wait"},
	} {
		w := &Waiting{waiterCache: map[**profile.Location]int{}}
		if got := w.waitGroup(pythonWait(functions...)); got != want {
			t.Errorf("%v: %q, want %q", functions, got, want)
		}
	}
}

func TestAWaitForAFreeConnectionOfPythonsPoolsIsNamed(t *testing.T) {
	const packages = "/v/lib/python3.11/site-packages/"
	const free = "futex: a free connection of the pool"
	for _, c := range []struct {
		takes           bool // else it waits for the pool's lock
		get, file, want string
	}{
		{true, "QueuePool._do_get", packages + "sqlalchemy/pool/impl.py", free},
		{true, "QueuePool._do_get", "/srv/impl.py", "futex: threading.Condition in Queue.get"},
		{true, "BlockingConnectionPool.get_connection", packages + "redis/connection.py", free},
		{false, "ConnectionPool.get_connection", packages + "redis/connection.py",
			"futex: threading.Lock in ConnectionPool.get_connection"},
	} {
		s := pythonWait("Condition.wait")
		s.Location = s.Location[:1]
		stack := [][2]string{{"Queue.get", packages + "sqlalchemy/util/queue.py"}, {c.get, c.file},
			{"export_csv", "/srv/ledger.py"}}
		if !c.takes {
			s.Location, stack = nil, stack[1:]
		}
		for _, f := range stack {
			s.Location = append(s.Location, &profile.Location{Mapping: &profile.Mapping{File: "[CPython]"},
				Line: []profile.Line{{Function: &profile.Function{Name: f[0], Filename: f[1]}}}})
		}
		w := NewWaiting(&profile.Profile{Sample: []*profile.Sample{s}}, true)
		if got := w.waitGroup(s); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.get, c.file, got, c.want)
		}
	}
}

func TestTheListOfWaitsHasTheConclusionsSafepointsAndThreadsOfRuntimes(t *testing.T) {
	r := newTimedRecording(10 * time.Second)
	r.mapping("/usr/bin/java")
	safe := r.addStack([]*profile.Location{r.location("SafepointSynchronize::block", "/jvm/libjvm.so"),
		r.location("Shop.list", "[HotSpot 25.0.3]")}, 1000, 1e10, 0, 0)
	labels(safe, 7, 101, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelWaitsFor, "futex 0x10")
	compiler := r.addStack([]*profile.Location{r.location("Monitor::wait", "/jvm/libjvm.so")}, 1000, 1e10, 0, 0)
	labels(compiler, 7, 102, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelRole, languages.RoleCompiler)
	collects := r.addStack([]*profile.Location{r.location("VMThread::wait_until_executed", "/jvm/libjvm.so"),
		r.location("Shop.list", "[HotSpot 25.0.3]")}, 1000, 1e10, 0, 0)
	labels(collects, 7, 103, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelWaitsFor,
		"condition mutex_init()::VMOperation_lock_storage+0x58")
	w := NewWaiting(&r.Profile, true)
	for s, want := range map[*profile.Sample]string{safe: safepoint, collects: operation} {
		if name, _ := w.waitObject(s); name != want {
			t.Errorf("%q, want %q", name, want)
		}
	}
	if rule := w.IdleRule(compiler); rule != waits.IdleRuntime {
		t.Errorf("a compiler's thread is idle by %q, want %q", rule, waits.IdleRuntime)
	}
	if rule := NewWaiting(&r.Profile, false).IdleRule(compiler); rule != "" {
		t.Errorf("without rules it is idle by %q", rule)
	}
}

// javaWait adds a wait of a thread from one tick to another, in a pool's function or in the program's.
func javaWait(r *recording, tid, begin, end int64, pooled bool, what string, owner int64) *profile.Sample {
	functions := []string{"jdk.internal.misc.Unsafe.park", "java.util.concurrent.locks.LockSupport.park", "Shop.pay",
		"java.lang.Thread.run"}
	if pooled {
		functions[2] = "java.util.concurrent.ThreadPoolExecutor.getTask"
	}
	var stack []*profile.Location
	for _, f := range functions {
		stack = append(stack, r.location(f, "[HotSpot 17.0.15]"))
	}
	s := r.addStack(stack, 1, (end-begin)*1e7, 0, 0)
	labels(s, 7, tid, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelWaitsFor, what)
	s.NumLabel[rec.LabelEnd] = []int64{1e18 + end*1e7}
	if owner != 0 {
		s.NumLabel[rec.LabelOwner] = []int64{owner}
	}
	return s
}

const aLock, aCondition = "park java.util.concurrent.locks.ReentrantLock", "park java.util.concurrent.Condition"

// Work that waits for the owner of a lock makes the owner's idle waits meanwhile not idle, nor those of the thread for
// which that one waits in turn; a joined thread is never idle.
func TestAThreadForWhichWorkWaitsMeanwhileIsNotIdle(t *testing.T) {
	r := newTimedRecording(10 * time.Second)
	r.Period = 1e7
	javaWait(r, 1, 100, 200, false, aLock, 2)
	javaWait(r, 6, 300, 301, false, "join", 5)
	want := map[*profile.Sample]bool{
		javaWait(r, 2, 0, 99, true, aCondition, 0):    true,
		javaWait(r, 2, 99, 101, true, aCondition, 0):  true, // one tick only
		javaWait(r, 2, 101, 150, true, aLock, 3):      false,
		javaWait(r, 2, 150, 300, true, aCondition, 0): false,
		javaWait(r, 3, 100, 120, true, aCondition, 0): false, // thread 2 waits for it
		javaWait(r, 3, 150, 300, true, aCondition, 0): true,
		javaWait(r, 4, 0, 900, true, aCondition, 0):   true, // nothing waits for it
		javaWait(r, 5, 0, 90, true, aCondition, 0):    false,
		javaWait(r, 0, 100, 200, true, aCondition, 0): true, // of exited threads together
	}
	check := func() {
		t.Helper()
		w := NewWaiting(&r.Profile, true)
		for s, idle := range want {
			if got := w.idleness(s) != (waits.Idleness{}); got != idle {
				t.Errorf("thread %d until %d: idle %v, want %v", NumLabel(s, rec.LabelTID),
					(NumLabel(s, rec.LabelEnd)-1e18)/1e7, got, idle)
			}
		}
	}
	check()
	for s := range want {
		delete(s.NumLabel, rec.LabelEnd)
		want[s] = NumLabel(s, rec.LabelTID) != 5
	}
	check() // without time stamps joins are known
}

// A thread that waits for work has released the GIL, of which it was the owner at another moment of the wait.
func TestAnIdleThreadDoesNotHoldTheGIL(t *testing.T) {
	r := newTimedRecording(10 * time.Second)
	javaWait(r, 1, 100, 200, false, string(waits.GIL), 2)
	s := javaWait(r, 2, 100, 200, true, aCondition, 0)
	if got := NewWaiting(&r.Profile, true).idleness(s); got.Idle != waits.IdlePool {
		t.Errorf("idle by %q", got.Idle)
	}
}

func TestAPartOfAnAwaitedThreadsWaitIsNotIdle(t *testing.T) {
	r := newTimedRecording(10 * time.Second)
	r.TimeNanos = 1e18
	javaWait(r, 1, 0, 900, false, aLock, 2)
	javaWait(r, 2, 0, 900, true, aCondition, 0)
	d := r.data(t, Options{From: 2 * time.Second, To: 4 * time.Second})
	for _, s := range d.Profile.Sample {
		if got := d.waiting.idleness(s); got != (waits.Idleness{}) || s.Value[1] != 2e9 {
			t.Errorf("thread %d: %+v", NumLabel(s, rec.LabelTID), got)
		}
	}
}
