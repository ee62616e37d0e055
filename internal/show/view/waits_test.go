// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
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
