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

func TestTheListOfWaitsHasTheConclusionsSafepointsAndThreadsOfRuntimes(t *testing.T) {
	r := newTimedRecording(10 * time.Second)
	r.mapping("/usr/bin/java")
	safe := r.addStack([]*profile.Location{r.location("SafepointSynchronize::block", "/jvm/libjvm.so"),
		r.location("Shop.list", "[HotSpot 25.0.3]")}, 1000, 1e10, 0, 0)
	labels(safe, 7, 101, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelWaitsFor, "futex 0x10")
	compiler := r.addStack([]*profile.Location{r.location("Monitor::wait", "/jvm/libjvm.so")}, 1000, 1e10, 0, 0)
	labels(compiler, 7, 102, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelRole, languages.RoleCompiler)
	w := NewWaiting(r.Sample, true)
	if name, _ := w.waitObject(safe); name != safepoint {
		t.Errorf("%q, want %q", name, safepoint)
	}
	if rule := w.IdleRule(compiler); rule != waits.IdleRuntime {
		t.Errorf("a compiler's thread is idle by %q, want %q", rule, waits.IdleRuntime)
	}
	if rule := NewWaiting(r.Sample, false).IdleRule(compiler); rule != "" {
		t.Errorf("without rules it is idle by %q", rule)
	}
}
