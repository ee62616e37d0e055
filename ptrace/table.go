// SPDX-License-Identifier: Apache-2.0

package ptrace

// table holds the Tracees of a controller.
type table struct {
	tracees []Tracee
	used    int // number of the first ones that may be in use; all others are free
	live    int // number in use
	rescue  *rescue
}

func (t *table) inUse() []Tracee { return t.tracees[:t.used] }

func (t *table) find(tid int) *Tracee {
	for i := range t.inUse() {
		if l := &t.tracees[i]; l.tid == tid && l.state != traceeFree {
			return l
		}
	}
	return nil
}

func (t *table) slot() *Tracee {
	for i := range t.tracees {
		if l := &t.tracees[i]; l.state == traceeFree {
			t.used = max(t.used, i+1)
			l.index = i
			return l
		}
	}
	return nil
}

func (t *table) take(l *Tracee, tid int) {
	*l = Tracee{tid: tid, index: l.index, state: traceePending}
	t.rescue.tids[l.index].Store(int32(tid))
	t.live++
}

func (t *table) free(l *Tracee) {
	t.rescue.tids[l.index].Store(0)
	*l = Tracee{}
	t.live--
	for t.used > 0 && t.tracees[t.used-1].state == traceeFree {
		t.used--
	}
}

// stopsSoon reports whether a pending thread is not [Tracee.Queued].
func (t *table) stopsSoon() bool {
	for i := range t.inUse() {
		if l := &t.tracees[i]; l.state == traceePending && !l.queued {
			return true
		}
	}
	return false
}
