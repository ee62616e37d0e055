// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

type missedSamples struct {
	weight, count divider
	second        int64
}

func (p *weightedSamples) divideMissed() {
	byProgram := p.takeMissed()
	if byProgram == nil {
		return
	}
	for k, w := range p.byPlace {
		if m := byProgram[k.place.Program]; m != nil && k.place.ChildState.placeKnown() {
			m.weight.weightSum += w.count
			m.count.weightSum += w.count
		}
	}
	for _, k := range p.inOrder() {
		if m := byProgram[k.place.Program]; m != nil && k.place.ChildState.placeKnown() {
			n := p.byPlace[k].count
			p.add(k, m.weight.next(n), m.count.next(n))
		}
	}
	for program, m := range byProgram {
		if m.weight.weightSum == 0 {
			k := p.keyAt(Place{State: sample.Running, Program: program, ChildState: ChildProgramOnly}, m.second)
			p.add(k, m.weight.total, m.count.total)
		}
	}
}

func (p *weightedSamples) takeMissed() (byProgram map[string]*missedSamples) {
	for k, w := range p.byPlace {
		if k.place.ChildState != ChildNotStopped {
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
		m.weight.total += w.ns
		m.count.total += w.count
		m.second = max(m.second, k.second)
		delete(p.byPlace, k)
	}
	return byProgram
}
