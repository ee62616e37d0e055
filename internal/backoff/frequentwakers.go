// SPDX-License-Identifier: Apache-2.0

package backoff

const (
	// frequentWakerCost is the cost of observing a sleeper that woke lately, ns. Such observations take
	// 1/frequentWakerShare of a CPU; of more than 1,562 sleepers more, because of maxFrequentWakerBackoff.
	frequentWakerCost       = 40e3
	frequentWakerShare      = 16
	maxFrequentWakerBackoff = 1e9 // mean, ns
	rareWakerAfter          = 1e9 // a sleep after which it is as any other, ns
)

func (p *Policy) noteFrequentWaker(th *ThreadState, often bool) {
	if th.isFrequentWaker == often {
		return
	}
	n := 1
	th.isFrequentWaker = often
	if !often {
		n = -1
	}
	th.proc.frequentWakers += n
	p.frequentWakers += n
}

func (p *Policy) backOffFrequentWaker(th *ThreadState) {
	if th.isFrequentWaker {
		th.nextBackoff = max(th.nextBackoff, p.frequentWakerBackoff())
		th.observedAt, th.clockAtObservation = p.now, th.proc.clock
	}
}

// frequentWakerBackoff returns the back-off of a sleeper that wakes often, ns; 0: none.
func (p *Policy) frequentWakerBackoff() int64 {
	length := min(int64(p.frequentWakers)*frequentWakerCost*frequentWakerShare, maxFrequentWakerBackoff)
	if length < 2*p.period {
		return 0
	}
	return randomized(length, p.rng)
}

// SampleWaits reports whether a sample waits for the thread's next due observation: one right after a run would favour
// short sleeps.
func (th *ThreadState) SampleWaits() bool { return th.isFrequentWaker && th.inWheel }
