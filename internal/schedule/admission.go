// SPDX-License-Identifier: Apache-2.0

package schedule

import "math"

const firstThreads = 8 // that the first tick observes at most, with --max-overhead

// admission bounds the threads of a tick by the mean loss of an observation. The first tick observes at most
// firstThreads, and the limit doubles in each tick that reaches it.
type admission struct {
	most       int // threads of a tick
	admitted   int
	cut        bool    // fewer than were due
	stopLoss   float64 // since the last tick, ns
	threadLoss float64 // mean, of an observation, ns
}

// admit returns how many of the due threads a tick observes, at least one if any is due. part is the part of them that
// the rate asks for, left what targets may still lose, ns.
func (a *admission) admit(due int, part, left float64) int {
	a.admitted = due
	if due == 0 {
		return 0
	}
	n := min(math.Ceil(part*float64(due)), float64(a.most))
	if a.threadLoss > 0 {
		n = min(n, left/a.threadLoss)
	}
	a.admitted = max(int(n), 1)
	a.cut = a.admitted < due
	if a.admitted == a.most {
		a.most *= 2
	}
	return a.admitted
}

// endTick updates the mean loss. observed counts the tick's attempts, also of threads that were not due; the admitted
// ones count at least, as some are left to the kernel's samples.
func (a *admission) endTick(observed int64) {
	n := max(observed, int64(a.admitted))
	if n == 0 {
		return
	}
	loss := a.stopLoss / float64(n)
	if a.threadLoss == 0 {
		a.threadLoss = loss
	}
	a.threadLoss += (loss - a.threadLoss) / 8
	a.stopLoss, a.admitted = 0, 0
}
