// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// EachStack calls f with the stacks that may take time later, also after a [Cut], some more than once.
func (a *Attribution) EachStack(f func(sample.StackID)) {
	for _, t := range a.threads {
		t.account.eachStack(f)
	}
	for _, p := range a.procs {
		ended := &p.account.threads
		for _, w := range []*weightedSamples{&ended.proven, &ended.unproven, &p.account.children.samples} {
			for k := range w.byPlace {
				f(k.place.Stack)
			}
		}
	}
}

func (t *threadAccount) eachStack(f func(sample.StackID)) {
	for i := range t.deferred {
		f(t.deferred[i].Place.Stack)
	}
	for i := range t.weights {
		f(t.weights[i].place.Stack)
	}
	l := &t.ledger
	for i := range l.pending.list {
		f(l.pending.list[i].stack)
	}
	f(l.sleep.Stack)
	f(l.lastRunning.Stack)
	f(l.lastOnCPU.Stack)
	f(l.kernel.call.Stack)
}
