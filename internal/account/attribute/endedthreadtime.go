// SPDX-License-Identifier: Apache-2.0

package attribute

// endedThreadTime is the unobserved time of ended threads, and the samples that share it:
//
//	created      sample               sample        end
//	   ├──── x ────┤├───────── x ────────┤├─ unobserved ─┤
//	      weight: T − x      weight: T − x
//
// Only threads created and ended while their process was sampled have weights. The excess x − T of a sample is withheld
// until the thread has ended (then it is unobserved time) or has lived long (then it is the sample's).
type endedThreadTime struct {
	cpuAtLastSamples int64 // of ended threads, ns
	samples          weightedSamples
	skidded          skidded
	unattributed     int64 // CPU time of short-lived threads that no sample took, ns
	distributed      int64 // ns
}

type skidded struct {
	count       int64
	weight      int64 // ns
	firstWeight int64 // of a thread's first sample, ns; 0: its place is known
}

type sampleWeight struct {
	place      Place
	at, weight int64
	withheld   int64 // CPU time beyond T, ns
}

// longLifeTicks is the length of a life from which a thread's own clock suffices. It counts
//
//   - at the thread's end, T of CPU time and sleep (--subset draws many samples on a CPU by chance)
//   - before it, and with SampledFromStart also at it, weights, which are samples on a CPU
const longLifeTicks = 16

// addWeights takes the weights of an ended thread; after a long life, only the first sample's.
func (p *endedThreadTime) addWeights(t *threadAccount, sampledFromStart bool) {
	if t.createdAt == 0 {
		return
	}
	asleep := (t.samples - t.activeSamples) * t.lastStandsFor
	fewSamples := len(t.weights) < longLifeTicks
	if t.ledger.clocks.last.CPU+asleep < longLifeTicks*t.lastStandsFor || sampledFromStart && fewSamples {
		p.addShortLife(t)
		return
	}
	switch first := t.skidded.firstWeight; {
	case first > 0:
		p.skidded.count++
		p.skidded.weight += first
	case first == 0 && len(t.weights) > 0:
		p.addWeight(&t.weights[0])
	}
}

func (p *endedThreadTime) addShortLife(t *threadAccount) {
	p.skidded.count += t.skidded.count
	p.skidded.weight += t.skidded.weight
	p.unattributed += t.ledger.carried.takeCPU() + t.ledger.carried.takePartsCPU()
	for i := range t.weights {
		w := &t.weights[i]
		p.addWeight(w)
		p.unattributed += w.withheld
	}
	t.weights = nil
}

func (p *endedThreadTime) addWeight(w *sampleWeight) { p.samples.addSample(w.place, w.at, w.weight) }

// minProven samples that do not skid suffice to take the weights of others.
const minProven = 16

func (p *endedThreadTime) distribute(total int64, when distribution, emit func(weightKey, int64)) (left int64) {
	extraWeight := p.takeSkidWeights(when)
	if when == atEnd {
		extraWeight += p.samples.samplingError()
	}
	return p.samples.distribute(total, extraWeight, emit)
}

// takeSkidWeights returns the weights of skids for the samples, ns; 0 while they are too few to take them.
func (p *endedThreadTime) takeSkidWeights(when distribution) (ns int64) {
	if when == soFar && p.samples.sampleCount < minProven {
		return 0
	}
	return take(&p.skidded.weight)
}
