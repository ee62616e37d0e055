// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
)

// # Tasks and the threads that run them
//
// A recording of a Go program has the blocked time of goroutines and that of threads. A goroutine that waits leaves its
// thread to the scheduler, where the thread sleeps if there is nothing else to run: the same wait would count twice. So
// the blocked time of threads asleep in the scheduler is left out where goroutines are recorded, unless native frames
// are asked for. So is that of threads asleep in an event loop whose tasks are recorded.

// IsTask reports a sample of a task without a thread, such as a goroutine.
func IsTask(s *profile.Sample) bool { return Label(s, rec.LabelTask) != "" }

// foldSchedulers takes the blocked time of threads that sleep in Go's scheduler off their samples, in processes with
// goroutines, and that of threads that sleep in an event loop, in processes with its tasks. Scheduled and Looped are
// these times.
func (d *Selection) foldSchedulers() {
	wall, ok := d.Has(rec.TypeWall)
	cpu, ok2 := d.Has(rec.TypeCPU)
	queue, ok3 := d.Has(rec.TypeRunQueue)
	count, ok4 := d.Has(rec.TypeSamples)
	blocked, hasBlocked := d.Has(TypeBlocked)
	if d.Options.Native || !ok || !ok2 || !ok3 || !ok4 {
		return
	}
	follows, loops := map[int64]bool{}, map[int64]bool{}
	for _, s := range d.Profile.Sample {
		switch Label(s, rec.LabelTask) {
		case rec.GoroutineTask:
			follows[Number(s, rec.LabelPID)] = true
		case rec.CoroutineTask:
			loops[Number(s, rec.LabelPID)] = true
		}
	}
	if len(follows)+len(loops) == 0 {
		return
	}
	schedules := map[**profile.Location]scheduler{}
	d.Profile.Sample = slices.Clone(d.Profile.Sample)
	kept := d.Profile.Sample[:0]
	for _, s := range d.Profile.Sample {
		idle := s.Value[wall] - s.Value[cpu] - s.Value[queue]
		pid := Number(s, rec.LabelPID)
		if !follows[pid] && !loops[pid] || IsTask(s) || Label(s, rec.LabelState) != "sleeping" ||
			len(s.Location) == 0 || idle <= 0 {
			kept = append(kept, s)
			continue
		}
		is, known := schedules[&s.Location[0]]
		if !known {
			is = schedulerOf(s)
			schedules[&s.Location[0]] = is
		}
		switch {
		case is == ofGo && follows[pid]:
			d.Scheduled += idle
		case is == ofLoop && loops[pid]:
			d.Looped += idle
		default:
			kept = append(kept, s)
			continue
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
	d.Profile.Sample = kept
}

// threadBegins are C functions in which threads of Go programs begin.
var threadBegins = []string{"start_thread", "clone", "clone3", "__clone", "__clone3", "crosscall1", "crosscall_amd64",
	"threadentry"}

// scheduler is what a sleeping thread's stack is in.
type scheduler uint8

const (
	noScheduler scheduler = iota
	ofGo
	ofLoop
)

// schedulerOf gives the scheduler that a thread sleeps in.
func schedulerOf(s *profile.Sample) scheduler {
	switch {
	case onlySchedules(s):
		return ofGo
	case onlySelects(s):
		return ofLoop
	}
	return noScheduler
}

// onlySelects reports whether asyncio's event loop waits in a stack: its selector has been called by one turn of the
// loop (asyncio/base_events.py, selectors.py). Python before 3.11 has no names of classes.
func onlySelects(s *profile.Sample) bool {
	called := ""
	for _, l := range s.Location {
		for i := range l.Line {
			f := l.Line[i].Function
			switch {
			case f == nil:
			case f.Name == "BaseEventLoop._run_once" || f.Name == "_run_once":
				return called == "select" || strings.HasSuffix(called, "Selector.select")
			default:
				called = f.Name
			}
		}
	}
	return false
}

// onlySchedules reports whether a stack has functions of Go's run-time system alone: a goroutine has left it.
func onlySchedules(s *profile.Sample) bool {
	some := false
	for _, l := range s.Location {
		if l.Mapping != nil && l.Mapping.File == "[kernel]" {
			continue
		}
		if len(l.Line) == 0 {
			return false
		}
		for i := range l.Line {
			if l.Line[i].Function == nil {
				return false
			}
			switch name := l.Line[i].Function.Name; {
			case strings.HasPrefix(name, "runtime.") && name != "runtime.main" && name != "runtime.goexit",
				strings.HasPrefix(name, "internal/runtime/"):
				some = true
			case !slices.Contains(threadBegins, name):
				return false
			}
		}
	}
	return some
}

// labelGroup names a group by the program's own labels: all, or the value of one.
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
