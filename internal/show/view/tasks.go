// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
)

// IsTask reports a sample of a task without a thread, such as a goroutine.
func IsTask(s *profile.Sample) bool { return Label(s, rec.LabelTask) != "" }

// hideSchedulers removes the blocked time of threads asleep in Go's scheduler or an event loop if their tasks are
// recorded, which have this time; not with --native.
func (sel *Selection) hideSchedulers() {
	clocks, ok := ClocksOf(sel.Profile)
	count, counted := sel.sampleCountIndex()
	if sel.Options.Native || !ok || !counted {
		return
	}
	recorded := recordedTasks(sel.Profile)
	if len(recorded) == 0 {
		return
	}
	schedulers := schedulerTasks{}
	sel.hidden = map[[2]int64]bool{}
	sel.Profile.Sample = slices.Clone(sel.Profile.Sample)
	kept := sel.Profile.Sample[:0]
	for _, s := range sel.Profile.Sample {
		task, idle := "", clocks.Blocked(s)
		tasks := recorded[NumLabel(s, rec.LabelPID)]
		ran := s.Value[clocks.CPU] != 0 || s.Value[clocks.RunQueue] != 0
		sleeps := !IsTask(s) && Label(s, rec.LabelState) == "sleeping"
		if len(tasks) > 0 && (idle > 0 || !ran) && sleeps {
			task = schedulers.taskOf(s)
		}
		if !tasks[task] {
			kept = append(kept, s)
			continue
		}
		sel.hidden[threadOf(s)] = true
		if task == languages.GoroutineTask {
			sel.SchedulerBlocked += idle
		} else {
			sel.EventLoopBlocked += idle
		}
		if ran {
			kept = append(kept, sel.withoutBlocked(s, &clocks, count))
		}
	}
	sel.Profile.Sample = kept
}

func threadOf(s *profile.Sample) [2]int64 {
	return [2]int64{NumLabel(s, rec.LabelPID), NumLabel(s, rec.LabelTID)}
}

// Tasks returns the mean number of tasks at a time, 0 for none, and what they are called.
func (d *Data) Tasks() (n int64, kind string) {
	for _, s := range d.Profile.Sample {
		if !IsTask(s) {
			continue
		}
		switch task := Label(s, rec.LabelTask); kind {
		case "", task:
			kind = task
		default:
			kind = "task"
		}
	}
	_, n = d.CountWaiters(d.Profile.Sample)
	return n, kind
}

// withoutBlocked returns a copy of a sample without its blocked time and its ticks, whose index is count.
func (sel *Selection) withoutBlocked(s *profile.Sample, clocks *ClockIndices, count int) *profile.Sample {
	c := *s
	c.Value = slices.Clone(s.Value)
	c.Value[clocks.Wall], c.Value[count] = s.Value[clocks.CPU]+s.Value[clocks.RunQueue], 0
	if i, has := sel.TypeIndex(TypeBlocked); has {
		c.Value[i] = 0
	}
	return &c
}

// IsApart reports whether a sample is of a thread that serves no request: one of a runtime, or one without a task. An
// event loop of asyncio serves requests in the same thread.
func (w *Waiting) IsApart(s *profile.Sample) bool {
	task := w.schedulers.taskOf(s)
	return isOfRuntime(s) || task != "" && task != languages.CoroutineTask
}

// isOfRuntime reports whether a sample is of a runtime's own thread.
func isOfRuntime(s *profile.Sample) bool {
	role := Label(s, rec.LabelRole)
	return role != "" && role != languages.RoleApplication
}

// schedulerTasks are the tasks of schedulers that stacks are in, or "".
type schedulerTasks map[**profile.Location]string

func (known schedulerTasks) taskOf(s *profile.Sample) string {
	if len(s.Location) == 0 {
		return ""
	}
	task, ok := known[&s.Location[0]]
	if !ok {
		if l := languages.OfScheduler(functionsOf(s)); l != nil {
			task = cmp.Or(l.Task, l.Runtimes[0])
		}
		known[&s.Location[0]] = task
	}
	return task
}

func recordedTasks(p *profile.Profile) map[int64]map[string]bool {
	kinds := map[int64]map[string]bool{}
	for _, s := range p.Sample {
		if pid := NumLabel(s, rec.LabelPID); IsTask(s) {
			if kinds[pid] == nil {
				kinds[pid] = map[string]bool{}
			}
			kinds[pid][Label(s, rec.LabelTask)] = true
		}
	}
	return kinds
}

func functionsOf(s *profile.Sample) (names []string) {
	for _, f := range waitStack(s, wholeStack) {
		if f.Module != KernelModule {
			names = append(names, f.Function)
		}
	}
	return names
}
