// SPDX-License-Identifier: Apache-2.0

package goroutines

import (
	"fmt"
	"prywalk/frames"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
)

const stillRunning = "running"

// Reader reads the goroutines of one process, live or of a core.
type Reader struct {
	// Read reads the process's memory and returns the number of bytes.
	Read  func(addr uint64, b []byte) int
	Space *frames.Space
	Walk  *walk.Walker
	// Locks: also read what goroutines wait for and hold.
	Locks bool
	// Now is CLOCK_MONOTONIC in ns; 0: unknown.
	Now int64

	scheduler     managed.Scheduler
	file          string // of the scheduler, if there are several; else ""
	first, second []byte
	mem           callstack.TaskMemory
}

// ReadAll reads the goroutines of all runtimes and joins them with their threads. err is of the last unreadable
// scheduler.
func (r *Reader) ReadAll(schedulers []managed.Scheduler, threads []stacks.Thread) (out []stacks.Goroutine, err error) {
	defer func() { r.Walk.Memory.Give(2 * int64(len(r.first))) }()
	for _, s := range schedulers {
		if r.scheduler = s; len(schedulers) > 1 {
			r.file = managed.FileOf(s)
		}
		list, failed := r.readRuntime(threads)
		if failed != nil {
			whose := "that wait"
			if r.file != "" {
				whose = "of " + r.file
			}
			err = fmt.Errorf("goroutines %s are not shown; their number is not known: %w", whose, failed)
		}
		out = append(out, list...)
	}
	if len(schedulers) > 1 {
		joinCallers(out)
	}
	return out, err
}

// Advice says how goroutines that prywalk cannot read are seen; pid is 0 for a core.
func Advice(pid int) string {
	if pid == 0 {
		return "to see them: dlv core PROGRAM FILE"
	}
	return "to see them: net/http/pprof's /debug/pprof/goroutine?debug=2, dlv attach (stops the process), or kill -QUIT " +
		"(ends the process)"
}

// Goroutines that changed during each try have no frames.
func (r *Reader) readRuntime(threads []stacks.Thread) ([]stacks.Goroutine, error) {
	list, err := r.scheduler.AllTasks()
	if err != nil {
		return nil, err
	}
	out := make([]stacks.Goroutine, 0, len(list))
	for i := range list {
		out = append(out, r.readGoroutine(&list[i], threads))
	}
	return out, nil
}

func (r *Reader) readGoroutine(t *managed.TaskRecord, threads []stacks.Thread) stacks.Goroutine {
	g := stacks.Goroutine{Runtime: r.file, Frames: []stacks.Frame{}, StopReason: stillRunning, StackLow: t.StackLo,
		StackHigh: t.StackHi}
	r.readStack(t, &g)
	g.ID, g.Status, g.Wait, g.Parent, g.Labels, g.System = t.ID, t.Status, t.Wait, t.Parent, t.Labels, t.System
	if since := int64(t.Since); g.Wait != "" && since > 0 && since < r.Now {
		g.Since = r.Now - since
	}
	// goroutine 1 is created before the runtime runs Go code
	if m := r.Space.ModuleAt(t.CreatedBy); m != nil && t.CreatedBy != 0 && t.ID != 1 {
		f := frames.Frame{PC: t.CreatedBy, Module: m, AfterCall: true}
		places := r.Walk.Places(&f)
		g.Created = places[len(places)-1]
		g.CreatedBy = g.Created.Function
	}
	if t.OnThread {
		asleep := joinThread(&g, t, threads)
		r.addLocks(t, &g, nil, asleep)
	}
	return g
}
