// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/languages"
	rec "prywalk/internal/profile"
)

// IsTask reports a sample of a task without a thread, such as a goroutine.
func IsTask(s *profile.Sample) bool { return Label(s, rec.LabelTask) != "" }

// foldSchedulers removes the blocked time of threads asleep in Go's scheduler or an event loop if tasks are recorded,
// which have this time. --native keeps it.
func (sel *Selection) foldSchedulers() {
	times, ok := sel.sleepTimes()
	if sel.Options.Native || !ok {
		return
	}
	recorded := recordedTasks(sel.Profile)
	if len(recorded) == 0 {
		return
	}
	schedulers := schedulerTasks{}
	sel.Profile.Sample = slices.Clone(sel.Profile.Sample)
	kept := sel.Profile.Sample[:0]
	for _, s := range sel.Profile.Sample {
		task, idle := "", times.idleTime(s)
		tasks := recorded[NumLabel(s, rec.LabelPID)]
		if len(tasks) > 0 && !IsTask(s) && Label(s, rec.LabelState) == "sleeping" && len(s.Location) > 0 && idle > 0 {
			task = schedulers.taskOf(s)
		}
		if !tasks[task] {
			kept = append(kept, s)
			continue
		}
		if task == languages.GoroutineTask {
			sel.SchedulerBlocked += idle
		} else {
			sel.EventLoopBlocked += idle
		}
		if s.Value[times.cpu] != 0 || s.Value[times.queue] != 0 {
			kept = append(kept, times.withoutIdle(s))
		}
	}
	sel.Profile.Sample = kept
}

// sleepTimes are the indices of the values of a sample that a fold reads or changes.
type sleepTimes struct {
	wall, cpu, queue, count int
	blocked                 int // -1: none
}

func (sel *Selection) sleepTimes() (t sleepTimes, ok bool) {
	ok = true
	index := func(name string) int {
		i, has := sel.TypeIndex(name)
		ok = ok && has
		return i
	}
	t = sleepTimes{index(rec.TypeWall), index(rec.TypeCPU), index(rec.TypeRunQueue), index(rec.TypeSamples), -1}
	if i, has := sel.TypeIndex(TypeBlocked); has {
		t.blocked = i
	}
	return t, ok
}

// idleTime is the time off CPU and run queue, ns.
func (t *sleepTimes) idleTime(s *profile.Sample) int64 {
	return s.Value[t.wall] - s.Value[t.cpu] - s.Value[t.queue]
}

func (t *sleepTimes) withoutIdle(s *profile.Sample) *profile.Sample {
	c := *s
	c.Value = slices.Clone(s.Value)
	c.Value[t.wall], c.Value[t.count] = s.Value[t.cpu]+s.Value[t.queue], 0
	if t.blocked >= 0 {
		c.Value[t.blocked] = 0
	}
	return &c
}

// schedulerTasks caches schedulerTask by a sample's stack.
type schedulerTasks map[**profile.Location]string

func (known schedulerTasks) taskOf(s *profile.Sample) string {
	task, ok := known[&s.Location[0]]
	if !ok {
		task = schedulerTask(s)
		known[&s.Location[0]] = task
	}
	return task
}

// recordedTasks returns the kinds ([languages.Language].Task) by pid.
func recordedTasks(p *profile.Profile) map[int64]map[string]bool {
	kinds := map[int64]map[string]bool{}
	for _, s := range p.Sample {
		task := Label(s, rec.LabelTask)
		if task == "" {
			continue
		}
		pid := NumLabel(s, rec.LabelPID)
		if kinds[pid] == nil {
			kinds[pid] = map[string]bool{}
		}
		kinds[pid][task] = true
	}
	return kinds
}

// schedulerTask returns the task of the language in whose scheduler a thread sleeps, or "".
func schedulerTask(s *profile.Sample) string {
	functions := functionsOf(s)
	for _, l := range languages.All {
		if l.Unoccupied != nil && l.Unoccupied(functions) {
			return l.Task
		}
	}
	return ""
}

// functionsOf omits the kernel's; "" for an unknown one.
func functionsOf(s *profile.Sample) (names []string) {
	for _, l := range s.Location {
		if l.Mapping != nil && l.Mapping.File == "[kernel]" {
			continue
		}
		if len(l.Line) == 0 {
			names = append(names, "")
		}
		for i := range l.Line {
			name := ""
			if f := l.Line[i].Function; f != nil {
				name = f.Name
			}
			names = append(names, name)
		}
	}
	return names
}

// labelGroup returns the program's labels, or one's value.
func labelGroup(s *profile.Sample, key string) string {
	if key != "" {
		if list, ok := s.Label[key]; ok && !rec.IsOwnLabel(key) {
			return strings.Join(list, ", ")
		}
		return "[no label " + key + "]"
	}
	var parts []string
	for name, list := range s.Label {
		if !rec.IsOwnLabel(name) {
			parts = append(parts, name+"="+strings.Join(list, ","))
		}
	}
	if len(parts) == 0 {
		return "[no labels]"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
