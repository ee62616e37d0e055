// SPDX-License-Identifier: Apache-2.0

package ptrace

type traceeTable struct {
	tracees []Tracee
	used    int // all from this index on are free
	live    int // number in use
	rescuer *rescuer
}

func (t *traceeTable) inUse() []Tracee { return t.tracees[:t.used] }

func (t *traceeTable) find(tid int) *Tracee {
	for i := range t.inUse() {
		if tracee := &t.tracees[i]; tracee.tid == tid && tracee.state != traceeFree {
			return tracee
		}
	}
	return nil
}

func (t *traceeTable) freeSlot() *Tracee {
	for i := range t.tracees {
		if tracee := &t.tracees[i]; tracee.state == traceeFree {
			t.used = max(t.used, i+1)
			tracee.index = i
			return tracee
		}
	}
	return nil
}

func (t *traceeTable) occupy(tracee *Tracee, tid int) {
	*tracee = Tracee{tid: tid, index: tracee.index, state: traceePending}
	t.rescuer.tids[tracee.index].Store(int32(tid))
	t.live++
}

func (t *traceeTable) free(tracee *Tracee) {
	t.rescuer.tids[tracee.index].Store(0)
	*tracee = Tracee{}
	t.live--
	for t.used > 0 && t.tracees[t.used-1].state == traceeFree {
		t.used--
	}
}

// anyStopsSoon reports whether any pending thread is not queued ([Tracee.MarkQueued]).
func (t *traceeTable) anyStopsSoon() bool {
	for i := range t.inUse() {
		if tracee := &t.tracees[i]; tracee.state == traceePending && !tracee.queued {
			return true
		}
	}
	return false
}
