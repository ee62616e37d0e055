// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
)

const fibers = 2000

// launchFibers returns the fibers' stacks by address, and how many have each.
func launchFibers(t *testing.T, ruby program, args ...string) (
	pid int, known map[uint64]string, counts map[string]int,
) {
	t.Helper()
	cmd, line := launch(t, ruby, append([]string{"testdata/fibers.rb", strconv.Itoa(fibers)}, args...)...)
	var truth map[uint64][][]any
	if err := json.Unmarshal([]byte(line), &truth); err != nil {
		t.Fatal(err)
	}
	known, counts = map[uint64]string{}, map[string]int{}
	for at, stack := range truth {
		var b strings.Builder
		for _, f := range stack {
			b.WriteString(strings.TrimSuffix(fmt.Sprintln(f...), "\n") + "|")
		}
		known[at] = b.String()
		counts[b.String()]++
	}
	return cmd.Process.Pid, known, counts
}

func fiberStack(task *stacks.Task) string {
	var b strings.Builder
	for i := range task.Frames {
		b.WriteString(task.Frames[i].Function)
		if line := task.Frames[i].Line; line != 0 {
			fmt.Fprintf(&b, " %d", line)
		}
		b.WriteByte('|')
	}
	return b.String()
}

func TestWaitingFibersAreThoseThatRubyKnows(t *testing.T) {
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			pid, known, counts := launchFibers(t, ruby)
			testtargets.Asleep(t, pid)
			for how, d := range map[string]*stacks.Process{
				"passive": observed.Dump(t, pid, dump.Options{}), "core": observed.DumpCore(t, pid),
			} {
				got := map[string]int{}
				for i := range d.Tasks {
					task := &d.Tasks[i]
					stack := fiberStack(task)
					got[stack] += task.Count
					if task.Kind != "fiber" || task.State != "waiting" || task.How != how || known[task.ID] != stack {
						t.Errorf("%s: %s %s %s 0x%x has %s, want %s", how, task.How, task.State, task.Kind, task.ID, stack,
							known[task.ID])
					}
				}
				if how == "core" { // gcore writes zeros for the first pages of a large mapping, as of one fiber's stack
					atMostOneLess(t, got, counts)
				} else if !maps.Equal(got, counts) || d.TasksChanged+d.TasksMore+d.TasksUnproven+d.TasksUnlisted != 0 {
					t.Errorf("%s: %v, want %v; %d changed, %d more, %d unproven, %d unlisted", how, got, counts,
						d.TasksChanged, d.TasksMore, d.TasksUnproven, d.TasksUnlisted)
				}
			}
		})
	}
}

func atMostOneLess(t *testing.T, got, counts map[string]int) {
	t.Helper()
	n := 0
	for stack := range got {
		if n += got[stack]; got[stack] > counts[stack] {
			t.Errorf("core: %d of %s, want %d", got[stack], stack, counts[stack])
		}
	}
	if n < fibers-1 {
		t.Errorf("core: %d fibers", n)
	}
}

// A fiber is left out, or waits where it waited before.
func TestFibersThatRunMeanwhileHaveTheirOwnStacksOrNone(t *testing.T) {
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			pid, _, counts := launchFibers(t, ruby, "busy")
			n, wrong := 0, 0
			for range testtargets.Times(3, 20) {
				d := observed.Dump(t, pid, dump.Options{})
				for i := range d.Tasks {
					task := &d.Tasks[i]
					n += task.Count
					if stack := fiberStack(task); counts[stack] == 0 {
						if wrong += task.Count; wrong < 5 {
							t.Errorf("%d of %s", task.Count, stack)
						}
					}
				}
			}
			t.Logf("%d fibers, %d wrong", n, wrong)
			if n == 0 {
				t.Error("no fiber was ever read")
			}
		})
	}
}

func TestFibersInText(t *testing.T) {
	for _, ruby := range rubies(t) {
		pid, _, _ := launchFibers(t, ruby)
		testtargets.Asleep(t, pid)
		var b strings.Builder
		if err := text.Write(&b, observed.Dump(t, pid, dump.Options{})); err != nil {
			t.Fatal(err)
		}
		if want := "\n400 waiting fibers (passive read)\n  Fiber at 0x"; strings.Count(b.String(), want) != 4 {
			t.Errorf("not four times %q in\n%s", want, b.String())
		}
		return
	}
}
