// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
)

type task struct {
	awaits string
	names  []string
	frames []string // function:line
}

func (t *task) UnmarshalJSON(b []byte) error {
	var frames [][2]any
	list := []any{&t.awaits, &t.names, &frames}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, f := range frames {
		t.frames = append(t.frames, fmt.Sprintf("%s:%v", f[0], f[1]))
	}
	slices.Sort(t.names)
	return nil
}

func (t *task) differs(got *stacks.Task) string {
	var fs []string
	for i := range got.Frames {
		fs = append(fs, fmt.Sprintf("%s:%d", got.Frames[i].Function, got.Frames[i].Line))
	}
	names := slices.Clone(got.AwaitsTasks)
	slices.Sort(names)
	if got.Awaits != t.awaits || !slices.Equal(names, t.names) || !slices.Equal(fs, t.frames) {
		return fmt.Sprintf("awaits %s %v, frames %v, want %s %v, %v", got.Awaits, names, fs, t.awaits, t.names, t.frames)
	}
	return ""
}

// checkTasks compares with the program's list, which lacks its main task. how is how all must have been read; "" allows
// any way.
func checkTasks(t *testing.T, what, how, main string, truth map[string]*task, p *stacks.Process) {
	t.Helper()
	left := len(truth)
	for i := range p.Tasks {
		d := &p.Tasks[i]
		k := truth[d.Name]
		switch {
		case how != "" && d.How != how || d.Kind != "asyncio":
			t.Errorf("%s: %s of %s, read as %s, want %s", what, d.Name, d.Kind, d.How, how)
		case d.Name == "ready":
			if d.State != "ready" || len(d.Frames) != 1 || d.Frames[0].Function != "leaf" {
				t.Errorf("%s: %+v", what, d)
			}
			left--
		case k != nil:
			if msg := k.differs(d); msg != "" || d.State != "waiting" {
				t.Errorf("%s: %s task %s: %s", what, d.State, d.Name, msg)
			}
			left--
		case d.Name != "Task-1" || d.State != main || len(d.Frames) != 1 || d.Frames[0].Function != "main":
			t.Errorf("%s: %+v", what, d)
		}
	}
	if left != 0 || len(p.Tasks) != len(truth)+1 || p.TasksChanged+p.TasksMore != 0 {
		t.Errorf("%s: %d tasks, %d that changed, %d more, want %d and the main one", what, len(p.Tasks), p.TasksChanged,
			p.TasksMore, len(truth))
	}
}

func launchTasks(t *testing.T, exe string, args ...string) (pid int, truth map[string]*task) {
	t.Helper()
	cmd, line := observed.Launch(t, exe, append([]string{"testdata/tasks.py"}, args...)...)
	if err := json.Unmarshal([]byte(line), &truth); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, truth
}

func sampleUntilRead(t *testing.T, pid int) (d *stacks.Process) {
	t.Helper()
	for range 200 {
		if d = observed.Dump(t, pid, dump.Options{}); d.TasksChanged == 0 {
			break
		}
	}
	return d
}

func TestWaitingTasksAreThoseThatTheInterpreterKnows(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			pid, truth := launchTasks(t, exe)
			testtargets.Asleep(t, pid)
			checkTasks(t, "asleep", "passive", "waiting", truth, observed.Dump(t, pid, dump.Options{}))
			checkTasks(t, "core", "core", "waiting", truth, observed.DumpCore(t, pid))
			pid, truth = launchTasks(t, exe, "spin")
			checkTasks(t, "busy", "", "running", truth, sampleUntilRead(t, pid))
		})
	}
}

func TestTasksInText(t *testing.T) {
	for version, exe := range pythons(t) {
		pid, _ := launchTasks(t, exe)
		testtargets.Asleep(t, pid)
		d := observed.Dump(t, pid, dump.Options{})
		for _, write := range []func(*strings.Builder) error{
			func(b *strings.Builder) error { return text.Write(b, d) },
			func(b *strings.Builder) error { return text.WriteMerged(b, d) },
		} {
			var b strings.Builder
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				"\nwaiting task joins (asyncio, passive read): awaits task leaf-ü世0\n" +
					"  #0                     joins at tasks.py:",
				"waiting tasks (asyncio, passive read): awaits Future\n",
				"\nwaiting task own (asyncio, passive read): awaits Future\n",
			} {
				if !strings.Contains(b.String(), want) {
					t.Errorf("%s: no %q in\n%s", version, want, b.String())
				}
			}
		}
		return
	}
}

// Each task has functions with its number.
func TestTasksOfABusyLoopAreConsistent(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, _ := observed.Launch(t, exe, "testdata/tasks_churn.py")
			p, err := loadedcode.Open(cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			names := symbols.NewNamer()
			defer names.Close()
			n, proven, changed, wrong := 0, 0, 0, 0
			for end := time.Now().Add(testtargets.Patience); n < 200 && time.Now().Before(end); {
				d, err := dump.Sample(p, dump.Options{MaxDepth: -1, Names: names})
				if err != nil {
					t.Fatal(err)
				}
				changed += d.TasksChanged
				for i := range d.Tasks {
					task := &d.Tasks[i]
					if !strings.HasPrefix(task.Name, "n") {
						continue
					}
					n++
					if task.How == "passive" {
						proven++
					}
					for j := range task.Frames {
						if f := task.Frames[j].Function; !strings.HasSuffix(f, "_"+task.Name) && f != "sleep" && f != "__sleep0" {
							if wrong++; wrong < 5 {
								t.Errorf("task %s has %v", task.Name, task.Frames)
							}
						}
					}
				}
			}
			t.Logf("%d tasks, %d proven, %d wrong, %d changed each time", n, proven, wrong, changed)
			if n == 0 {
				t.Error("no task was ever read")
			}
		})
	}
}
