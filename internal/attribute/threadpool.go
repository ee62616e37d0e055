// SPDX-License-Identifier: Apache-2.0

package attribute

// # Short-lived threads
//
//	created      sample                sample       end
//	   ├─── x ─────┤├───────── T ─────────┤├─ unobserved ─┤
//	weight: T − x      weight: T − CPU time since the one before
//
// Only threads created and ended while their process was sampled have weights. The rest of x > T is withheld until the
// thread has ended (then it is unobserved time) or has lived long (then it is the sample's).

// threadPool is the unobserved time of ended threads, and the samples that share it.
type threadPool struct {
	cpuAtLastSamples int64    // of ended threads up to their last samples, ns
	weights          timePool // of samples with a proven place
	unproven         timePool // of samples that may skid
	skidded          skidded
	assumedProven    int64 // unproven samples that were counted as proven
	unattributed     int64 // CPU time of short-lived threads that no sample took, ns
	distributed      int64 // unobserved time so far, ns
}

type skidded struct {
	count       int64
	weight      int64 // ns
	firstWeight int64 // of a thread's first sample, ns; 0: it has a place
}

type sampleWeight struct {
	place      Place
	at, weight int64
	withheld   int64 // CPU time beyond the time between two ticks, ns
	unproven   bool
}

// longLife is the length of a life, in ticks on a processor or asleep, from which a thread's own clock suffices. CPU
// time counts, not on-CPU samples: --subset draws many of them by chance.
const longLife = 16

// addWeights adds the weights of an ended thread: after a long life only the first sample's. With kernel samples a life
// of few samples is short.
func (p *threadPool) addWeights(t *ThreadAccount, periodPerSample bool) {
	if t.CreatedAt == 0 {
		return
	}
	asleep := (t.Samples - t.ranSamples) * t.tickLength
	short := t.ledger.last.CPU+asleep < longLife*t.tickLength || periodPerSample && len(t.weights) < longLife
	for i, c := range t.weights {
		switch {
		case !short && (i > 0 || t.skidded.firstWeight != 0):
		case c.unproven:
			p.unproven.addSample(c.place, c.at, c.weight)
		default:
			p.weights.addSample(c.place, c.at, c.weight)
		}
	}
	switch {
	case short:
		p.skidded.count += t.skidded.count
		p.skidded.weight += t.skidded.weight
	case t.skidded.firstWeight > 0:
		p.skidded.count++
		p.skidded.weight += t.skidded.firstWeight
	}
	t.skidded = skidded{}
	if short {
		p.unattributed += t.ledger.takeCarriedCPU()
		for i := range t.weights {
			p.unattributed += t.weights[i].withheld
		}
		t.weights = nil
	}
}

const (
	// A pool has many skids if at least one in skidShare of the samples without a proven place skids.
	skidShare = 5
	// leastProven is the least number of proven samples that take the weights of others.
	leastProven = 16
)

func (p *threadPool) hasManySkids() bool {
	return p.skidded.count > 0 && p.skidded.count*skidShare >= p.unproven.sampleCount+p.assumedProven+p.skidded.count &&
		p.weights.sampleCount-p.assumedProven >= leastProven
}

// distribute emits up to total ns of unobserved time and returns the rest.
func (p *threadPool) distribute(total int64, last bool, emit func(weightKey, int64)) (left int64) {
	slack := p.takeSkidWeights(last)
	if last {
		slack += p.weights.samplingError()
	}
	return p.weights.distribute(total, slack, emit)
}

// takeSkidWeights returns the weights of samples that skid, for the proven ones, ns; before the last distribution only
// if leastProven take them. Unproven samples skid if many do, else they count as proven.
func (p *threadPool) takeSkidWeights(last bool) (ns int64) {
	if p.hasManySkids() {
		ns += p.unproven.takeTotal()
	} else {
		p.assumedProven += p.unproven.sampleCount
		p.weights.merge(&p.unproven)
	}
	if last || p.weights.sampleCount >= leastProven {
		ns += p.skidded.weight
		p.skidded.weight = 0
	}
	return ns
}
