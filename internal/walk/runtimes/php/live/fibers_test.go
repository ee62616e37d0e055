// SPDX-License-Identifier: Apache-2.0

package live

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	dumptext "prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
)

const fibers = 2000

// withFibers returns the interpreters that have fibers of a known layout.
func withFibers(t *testing.T) (list []interpreter) {
	t.Helper()
	list = slices.DeleteFunc(interpreters(t), func(i interpreter) bool {
		out, _ := bounded.Output(exec.Command(i.command[0], "-n", "-r", "echo PHP_VERSION_ID;"))
		id, _ := strconv.Atoi(string(out))
		return id < 80200
	})
	testtargets.Need(t, len(list) > 0, "PHP 8.2 or later", testtargets.SetUp)
	return list
}

// startFibers returns the fibers' stacks by name, and how many have each.
func (i interpreter) startFibers(t *testing.T, arguments ...string) (
	pid int, known map[string]string, counts map[string]int,
) {
	t.Helper()
	arguments = append([]string{"-dfiber.stack_size=128K", "testdata/fibers.php", strconv.Itoa(fibers)}, arguments...)
	cmd, line := observed.Launch(t, i.command[0], slices.Concat(i.command[1:], arguments)...)
	var truth map[int]map[int]map[int]any
	if err := json.Unmarshal([]byte(line), &truth); err != nil {
		t.Fatal(err)
	}
	known, counts = map[string]string{}, map[string]int{}
	for id, stack := range truth {
		var b strings.Builder
		for i := range len(stack) {
			fmt.Fprint(&b, stack[i][0])
			if line, has := stack[i][1]; has {
				fmt.Fprint(&b, " ", line)
			}
			b.WriteByte('|')
		}
		known[fmt.Sprintf("Fiber #%d", id)] = b.String()
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

func TestWaitingFibersAreThoseThatPHPKnows(t *testing.T) {
	for _, php := range withFibers(t) {
		t.Run(php.name, func(t *testing.T) {
			pid, known, counts := php.startFibers(t)
			testtargets.Asleep(t, pid)
			for how, d := range map[string]*stacks.Process{
				"passive": observed.Dump(t, pid, dump.Options{}), "core": observed.DumpCore(t, pid),
			} {
				got := map[string]int{}
				for i := range d.Tasks {
					task := &d.Tasks[i]
					stack := fiberStack(task)
					got[stack] += task.Count
					if task.Kind != "fiber" || task.State != "waiting" || task.How != how || known[task.Name] != stack {
						t.Errorf("%s: %s %s %s %s has %s, want %s", how, task.How, task.State, task.Kind, task.Name, stack,
							known[task.Name])
					}
				}
				for stack, n := range counts {
					if got[stack] != n {
						t.Errorf("%s: %d of %s, want %d", how, got[stack], stack, n)
					}
				}
				if len(got) != len(counts) || d.TasksChanged+d.TasksMore+d.TasksUnproven+d.TasksUnlisted != 0 {
					t.Errorf("%s: %d stacks, want %d; %d changed, %d more, %d unproven, %d unlisted", how, len(got),
						len(counts), d.TasksChanged, d.TasksMore, d.TasksUnproven, d.TasksUnlisted)
				}
			}
		})
	}
}

// A fiber is left out, or waits where it waited before.
func TestFibersThatRunMeanwhileHaveTheirOwnStacksOrNone(t *testing.T) {
	for _, php := range withFibers(t) {
		t.Run(php.name, func(t *testing.T) {
			pid, _, counts := php.startFibers(t, "busy")
			n, wrong := 0, 0
			for range testtargets.Times(3, 6) { // a dump of a process that runs takes seconds
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
	pid, _, _ := withFibers(t)[0].startFibers(t)
	testtargets.Asleep(t, pid)
	var b strings.Builder
	if err := dumptext.Write(&b, observed.Dump(t, pid, dump.Options{})); err != nil {
		t.Fatal(err)
	}
	if want := "\n333 waiting fibers (passive read)\n  Fiber #"; strings.Count(b.String(), want) != 4 {
		t.Errorf("not four times %q in\n%s", want, b.String())
	}
}
