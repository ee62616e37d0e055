// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"strings"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

// The first thread waits for the lock after its output, and not in its sleep.
func TestThreadsThatComputeWaitForTheInterpreterLock(t *testing.T) {
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			cmd, _ := launch(t, ruby, "testdata/gvl.rb")
			rb := attach(t, cmd.Process.Pid)
			threads := rb.Names.(managed.Threads)
			waited, owners := map[string]int{}, map[string]int{}
			calls, asked, slept := int64(0), 0, false
			enough := func() bool { return len(waited) == 5 && len(owners) > 0 && slept }
			for end := time.Now().Add(testtargets.Patience); !enough() && time.Now().Before(end); {
				rb.Observe(t, 1, func(tid int, s *observe.RawSample, stack observed.Stack) {
					if s.State == sample.Running || s.How != observe.ByPassiveRead {
						return
					}
					before := procmem.Calls()
					w, ok := threads.Waiting(
						&managed.WaitQuery{InnerTID: tid, Word: s.Call.Args[0], Mem: &s.Mem, Live: rb.Live(tid, s)})
					calls += procmem.Calls() - before
					asked++
					name, names := rb.Code.ThreadName(tid), stack.Names()
					sleeps := tid == rb.PID && strings.HasSuffix(innermost(names), "sleep")
					slept = slept || sleeps
					switch {
					case !ok:
					case w.Kind == waits.Sleep && strings.HasSuffix(innermost(names), "sleep"):
					case w.Kind != waits.GIL:
						t.Errorf("%s waits for %+v", name, w)
					case sleeps:
						t.Errorf("the first thread is in the queue: %q", names)
					case strings.HasPrefix(name, "busy"):
						waited[name]++
						if w.Owner != 0 {
							owners[rb.Code.ThreadName(w.Owner)]++
						}
					}
				})
			}
			t.Logf("%s: waited %v, owners %v, %.1f system calls for each of %d sleepers", rb.Names.Name(), waited, owners,
				float64(calls)/float64(max(asked, 1)), asked)
			if !enough() {
				t.Errorf("%d of 5 threads wait for the lock; owners: %v; the first thread slept: %v", len(waited), owners, slept)
			}
		})
	}
}

func innermost(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}
