// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// missedSamples are of one program.
type missedSamples struct {
	weight, count int64
	samples       int64 // samples with a place
	placed        int64 // those of them that have their part
	second        int64
}

func (p *timePool) divideMissed() {
	byProgram := p.takeMissed()
	if byProgram == nil {
		return
	}
	for k, n := range p.counts {
		if m := byProgram[k.place.Program]; m != nil && k.place.Found.hasPlace() {
			m.samples += n
		}
	}
	for _, k := range inOrder(p.counts) {
		if m := byProgram[k.place.Program]; m != nil && k.place.Found.hasPlace() {
			weight, count := sample.Portion(m.weight, m.placed, m.samples), sample.Portion(m.count, m.placed, m.samples)
			m.placed += p.counts[k]
			p.weights[k] += sample.Portion(m.weight, m.placed, m.samples) - weight
			p.counts[k] += sample.Portion(m.count, m.placed, m.samples) - count
		}
	}
	for program, m := range byProgram {
		if m.samples == 0 {
			k := p.keyAt(Place{State: sample.Running, Program: program, Found: FoundProgramOnly}, m.second)
			p.weights[k] += m.weight
			p.counts[k] += m.count
		}
	}
}

func (p *timePool) takeMissed() (byProgram map[string]*missedSamples) {
	for k, n := range p.counts {
		if k.place.Found != FoundMissed {
			continue
		}
		if byProgram == nil {
			byProgram = map[string]*missedSamples{}
		}
		m := byProgram[k.place.Program]
		if m == nil {
			m = &missedSamples{}
			byProgram[k.place.Program] = m
		}
		m.weight, m.count, m.second = m.weight+p.weights[k], m.count+n, max(m.second, k.second)
		delete(p.weights, k)
		delete(p.counts, k)
	}
	return byProgram
}
