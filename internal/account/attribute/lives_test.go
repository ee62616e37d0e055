// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"
	"testing"

	"prywalk/frames"
	"prywalk/internal/base/sample"
)

const phases = 4

type lives struct {
	processAccount
	used       int64         // ns
	attributed [phases]int64 // by phase, ns
	unseen     int64         // without a stack, ns
	places     int64         // number of stacks of a phase; 0: 1
}

func newLives() *lives {
	l := &lives{}
	l.emit = l.add
	return l
}

func (l *lives) thread(createdAt int64) *threadAccount {
	th := &threadAccount{createdAt: createdAt}
	th.ledger.Emit = l.add
	return th
}

func (l *lives) add(s Span) {
	if s.Leaf != "" {
		l.unseen += s.CPU
		return
	}
	l.attributed[int64(s.Stack)/max(l.places, 1)] += s.CPU
}

func (l *lives) at(age, life int64) Place {
	phase := min(age*phases/life, phases-1)
	return Place{Stack: sample.StackID(phase * max(l.places, 1)), State: sample.Running, WalkEnd: frames.StopRoot}
}

func (l *lives) sample(th *threadAccount, s Sample) {
	if !th.begun {
		th.begin(s.At)
	}
	th.add(&s)
}

func (l *lives) end(th *threadAccount, life int64) {
	l.used += life
	l.endThread(th, &End{})
	l.finishThread(th)
}

func (l *lives) finish(now int64) { l.distributeExited(l.unobserved(l.used), now) }

// check compares the sum, and the share of each phase within six standard errors of so many samples. mostUnseen bounds
// the share without a stack: it is the difference of two sums with the same expectation.
func (l *lives) check(t *testing.T, samples, mostUnseen float64) {
	t.Helper()
	total := l.unseen
	for _, ns := range l.attributed {
		total += ns
	}
	if total != l.used {
		t.Errorf("attributed %d ns, want %d", total, l.used)
	}
	limit := 6 * math.Sqrt(0.25*0.75/samples)
	for i, ns := range l.attributed {
		if share := float64(ns) / float64(total-l.unseen); math.Abs(share-0.25) > limit {
			t.Errorf("share of phase %d is %.4f, want 0.25 ± %.4f", i, share, limit)
		}
	}
	if share := float64(l.unseen) / float64(total); share > mostUnseen {
		t.Errorf("share without a stack is %.4f, want at most %.4f", share, mostUnseen)
	}
}
