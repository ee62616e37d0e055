// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"slices"
	"strings"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
)

var sleeping = []string{"inner:8", "(anonymous):13", "baz:13", "bar:12", "arrow:17", "reviver:20"}

// The Worker has its own isolate.
func TestDumpsAndCoresHaveTheFunctionsOfSleepers(t *testing.T) {
	for version, exe := range chosen(t) {
		t.Run(version, func(t *testing.T) {
			pid := start(t, exe, "jssleep.js")
			// It is ready before it sleeps.
			testtargets.Eventually(t, "two sleeping threads", func() bool { return threadsInAtomicsWait(t, pid) == 2 })
			for _, atomic := range []bool{false, true} {
				checkSleeping(t, observed.Dump(t, pid, dump.Options{Atomic: atomic}))
			}
			checkSleeping(t, observed.DumpCore(t, pid))
		})
	}
}

func threadsInAtomicsWait(t *testing.T, pid int) (n int) {
	t.Helper()
	d := observed.Dump(t, pid, dump.Options{})
	for i := range d.Threads {
		th := &d.Threads[i]
		inner := slices.IndexFunc(th.Frames, func(f stacks.Frame) bool {
			return f.Kind == "v8js" && strings.HasSuffix(f.File, "jssleep.js")
		})
		if th.State == "S" && inner >= 0 && th.Frames[inner].Function == "inner" {
			n++
		}
	}
	return n
}

func checkSleeping(t *testing.T, d *stacks.Process) {
	t.Helper()
	found := 0
	for i := range d.Threads {
		var got []string
		for _, f := range d.Threads[i].Frames {
			if f.Kind == "v8js" && strings.HasSuffix(f.File, "jssleep.js") {
				got = append(got, call{name: f.Function, line: f.Line}.place())
			}
		}
		if len(got) == 0 {
			continue
		}
		found++
		if len(got) < len(sleeping) || !slices.Equal(got[:len(sleeping)], sleeping) {
			t.Errorf("%v, want %v", got, sleeping)
		}
	}
	if found != 2 {
		t.Errorf("%d threads with that stack, want 2", found)
	}
}
