// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// Stacks yields the stacks that may take time later, also after a [Cut], some more than once.
func (a *Attribution) Stacks(yield func(sample.StackID) bool) {
	for _, t := range a.threads {
		if !t.account.stacks(yield) {
			return
		}
	}
	for _, p := range a.procs {
		ended := &p.account.threads
		for _, w := range []*weightedSamples{&ended.proven, &ended.unproven, &p.account.children.samples} {
			for k := range w.byPlace {
				if !yield(k.place.Stack) {
					return
				}
			}
		}
	}
}

func (t *ThreadAccount) stacks(yield func(sample.StackID) bool) bool {
	for i := range t.deferred {
		if !yield(t.deferred[i].Place.Stack) {
			return false
		}
	}
	for i := range t.weights {
		if !yield(t.weights[i].place.Stack) {
			return false
		}
	}
	l := &t.ledger
	for i := range l.pending.list {
		if !yield(l.pending.list[i].stack) {
			return false
		}
	}
	return yield(l.sleep.Stack) && yield(l.lastRunning.Stack) && yield(l.lastOnCPU.Stack)
}
