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
	wall, ok := sel.TypeIndex(rec.TypeWall)
	cpu, ok2 := sel.TypeIndex(rec.TypeCPU)
	queue, ok3 := sel.TypeIndex(rec.TypeRunQueue)
	count, ok4 := sel.TypeIndex(rec.TypeSamples)
	blocked, hasBlocked := sel.TypeIndex(TypeBlocked)
	if sel.Options.Native || !ok || !ok2 || !ok3 || !ok4 {
		return
	}
	recorded := recordedTasks(sel.Profile)
	if len(recorded) == 0 {
		return
	}
	schedules := map[**profile.Location]string{}
	sel.Profile.Sample = slices.Clone(sel.Profile.Sample)
	kept := sel.Profile.Sample[:0]
	for _, s := range sel.Profile.Sample {
		idle := s.Value[wall] - s.Value[cpu] - s.Value[queue]
		tasks := recorded[NumLabel(s, rec.LabelPID)]
		if len(tasks) == 0 || IsTask(s) || Label(s, rec.LabelState) != "sleeping" || len(s.Location) == 0 || idle <= 0 {
			kept = append(kept, s)
			continue
		}
		task, known := schedules[&s.Location[0]]
		if !known {
			task = schedulerTask(s)
			schedules[&s.Location[0]] = task
		}
		if !tasks[task] {
			kept = append(kept, s)
			continue
		}
		if task == rec.GoroutineTask {
			sel.SchedulerBlocked += idle
		} else {
			sel.EventLoopBlocked += idle
		}
		if s.Value[cpu] == 0 && s.Value[queue] == 0 {
			continue
		}
		c := *s
		c.Value = slices.Clone(s.Value)
		c.Value[wall], c.Value[count] = s.Value[cpu]+s.Value[queue], 0
		if hasBlocked {
			c.Value[blocked] = 0
		}
		kept = append(kept, &c)
	}
	sel.Profile.Sample = kept
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
