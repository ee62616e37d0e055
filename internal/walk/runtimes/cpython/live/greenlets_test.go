// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
)

const greenlets = 2000

// withGreenlets returns the interpreters that have greenlet.
func withGreenlets(t *testing.T) map[string]string {
	t.Helper()
	all := pythons(t)
	maps.DeleteFunc(all, func(_, exe string) bool {
		return bounded.Run(exec.Command(exe, "-c", "import greenlet")) != nil
	})
	testtargets.Need(t, len(all) > 0, "greenlet of Python", testtargets.SetUp)
	return all
}

// launchGreenlets returns the greenlets' stacks by address, and how many have each.
func launchGreenlets(t *testing.T, exe string, args ...string) (
	pid int, known map[uint64]string, counts map[string]int,
) {
	t.Helper()
	cmd, line := observed.Launch(t, exe, append([]string{"testdata/greenlets.py", strconv.Itoa(greenlets)}, args...)...)
	var truth map[uint64][][2]any
	if err := json.Unmarshal([]byte(line), &truth); err != nil {
		t.Fatal(err)
	}
	known, counts = map[uint64]string{}, map[string]int{}
	for at, stack := range truth {
		for _, f := range stack {
			known[at] += fmt.Sprintf("%v:%v|", f[0], f[1])
		}
		counts[known[at]]++
	}
	return cmd.Process.Pid, known, counts
}

func greenletStack(task *stacks.Task) (stack string) {
	for i := range task.Frames {
		stack += fmt.Sprintf("%s:%d|", task.Frames[i].Function, task.Frames[i].Line)
	}
	return stack
}

func TestWaitingGreenletsAreThoseThatGreenletKnows(t *testing.T) {
	for version, exe := range withGreenlets(t) {
		t.Run(version, func(t *testing.T) {
			pid, known, counts := launchGreenlets(t, exe)
			testtargets.Asleep(t, pid)
			for how, d := range map[string]*stacks.Process{
				"passive": observed.Dump(t, pid, dump.Options{}), "core": observed.DumpCore(t, pid),
			} {
				got := map[string]int{}
				for i := range d.Tasks {
					task := &d.Tasks[i]
					stack := greenletStack(task)
					got[stack] += task.Count
					if task.Kind != "greenlet" || task.State != "waiting" || task.How != how || known[task.ID] != stack {
						t.Errorf("%s: %s %s %s 0x%x has %s, want %s", how, task.How, task.State, task.Kind, task.ID, stack,
							known[task.ID])
					}
				}
				if !maps.Equal(got, counts) || d.TasksChanged+d.TasksMore+d.TasksUnproven+d.TasksUnlisted != 0 {
					t.Errorf("%s: %v, want %v; %d changed, %d more, %d unproven, %d unlisted", how, got, counts,
						d.TasksChanged, d.TasksMore, d.TasksUnproven, d.TasksUnlisted)
				}
			}
		})
	}
}

// A greenlet is left out, or waits where it waited before. That of main, which switches to the others, waits for them.
func TestGreenletsThatRunMeanwhileHaveTheirOwnStacksOrNone(t *testing.T) {
	for version, exe := range withGreenlets(t) {
		t.Run(version, func(t *testing.T) {
			pid, _, counts := launchGreenlets(t, exe, "busy")
			n, wrong, changed, unproven, unlisted := 0, 0, 0, 0, 0
			for range testtargets.Times(3, 20) {
				d := observed.Dump(t, pid, dump.Options{})
				changed, unproven, unlisted = changed+d.TasksChanged, unproven+d.TasksUnproven, unlisted+d.TasksUnlisted
				for i := range d.Tasks {
					task := &d.Tasks[i]
					n += task.Count
					if stack := greenletStack(task); counts[stack] == 0 && !strings.HasPrefix(stack, "main:") {
						if wrong += task.Count; wrong < 5 {
							t.Errorf("%d of %s", task.Count, stack)
						}
					}
				}
			}
			t.Logf("%d greenlets, %d wrong, %d changed, %d unproven, %d of the lists incomplete", n, wrong, changed, unproven,
				unlisted)
			if n == 0 {
				t.Error("no greenlet was ever read")
			}
		})
	}
}

func TestGreenletsInTextAndVerdict(t *testing.T) {
	for _, exe := range withGreenlets(t) {
		pid, _, _ := launchGreenlets(t, exe)
		testtargets.Asleep(t, pid)
		d := observed.Dump(t, pid, dump.Options{})
		var b strings.Builder
		if err := text.Write(&b, d); err != nil {
			t.Fatal(err)
		}
		if want := "\n500 waiting greenlets (passive read)\n  "; strings.Count(b.String(), want) != 3 {
			t.Errorf("not three times %q in\n%s", want, b.String())
		}
		l := locks.New()
		l.Processes = []*stacks.Process{d}
		if l.Examine(locks.AsRead{}); l.Verdict != locks.VerdictUnknown {
			t.Errorf("verdict %s", l.Verdict)
		}
		return
	}
}
