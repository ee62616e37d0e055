// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"maps"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

func TestEffectsOnCallsAreCountedByName(t *testing.T) {
	var h, none callEffects
	for _, e := range []observe.CallEffect{
		{Repair: ptrace.Repair{Broken: true}, Call: unix.SYS_READ},
		{Repair: ptrace.Repair{Broken: true}, Call: unix.SYS_READ},
		{Repair: ptrace.Repair{Broken: true}, Call: -1}, // unknown
		{Repair: ptrace.Repair{Broken: true}, Call: maxCalls},
		{Repair: ptrace.Repair{ReportedTwice: true}, Call: unix.SYS_FUTEX},
		{Repair: ptrace.Repair{Restarted: true}, Call: unix.SYS_READ},
	} {
		h.add(&e)
	}
	for what, c := range map[string]struct{ got, want map[string]int64 }{
		"broken, two more not counted by call": {byCall(&h.broken, 6), map[string]int64{"read": 2, "other": 4}},
		"reported twice":                       {byCall(&h.reported, 1), map[string]int64{"futex": 1}},
		"none":                                 {byCall(&none.broken, 0), map[string]int64{}},
	} {
		if !maps.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
}
