// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"slices"

	"prywalk/internal/walk/managed"
)

// Processors take 16 numbers each (runtime/proc.go, _GoidCacheBatch), not all used.
const goidsTaken = 1 << 16

// AllTasks implements [managed.Scheduler].
func (r *Runtime) AllTasks() ([]managed.TaskRecord, error) {
	all, err := r.goroutines()
	r.queues, r.sudogs = nil, 0 // were read for another list
	if err != nil {
		return nil, err
	}
	parents, labels := haveParents(all), map[uint64]map[string]string{}
	out := make([]managed.TaskRecord, len(all))
	for i := range all {
		g, t := &all[i], &out[i]
		t.Object = g.Addr
		g.fill(t, r.program.host.Arch())
		t.System = r.allgs.isSystem(g)
		t.Wait = r.allgs.waitReason(g)
		if parents {
			t.Parent = g.Parent
		}
		if _, known := labels[g.Labels]; !known {
			labels[g.Labels] = r.LabelsAt(g.Labels)
		}
		t.Labels = labels[g.Labels]
	}
	return out, nil
}

// goroutines returns all live goroutines by ascending number, each as of its own moment.
func (r *Runtime) goroutines() (out []Goroutine, err error) {
	for range goroutineTries {
		if _, err = r.Places(); err != nil {
			return nil, err
		}
		if out, err = r.allgs.readAll(slices.Sorted(slices.Values(r.gs))); err == nil {
			return out, nil
		}
	}
	return nil, err
}

// Reread implements [managed.Scheduler].
func (r *Runtime) Reread(t *managed.TaskRecord) (same bool) {
	g, ok := r.allgs.read(t.Object)
	if !ok || g.ended() || g.ID != t.ID {
		t.OnThread = true
		return false
	}
	before, wait := t.Words, t.Wait
	g.fill(t, r.program.host.Arch())
	if t.Words != before {
		t.Wait = r.allgs.waitReason(&g)
		return false
	}
	t.Wait = wait
	return true
}

// haveParents reports whether g has parentGoid, as since Go 1.21. Precondition: all is sorted by number.
func haveParents(all []Goroutine) (found bool) {
	for i := range all {
		p := all[i].Parent
		if p > all[len(all)-1].ID+goidsTaken || all[i].ID == 1 && p != 0 {
			return false
		}
		found = found || p != 0
	}
	return found
}
