// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"
	"maps"
	"slices"

	"prywalk/internal/sample"
)

// childTime is the time of unobserved children, and what divides it.
type childTime struct {
	samples          weightedSamples
	undistributed    int64 // ns
	unknownWeight    int64 // of samples whose place is unknown, ns
	programs         map[string]programTime
	programsComplete bool
	countedCPU       int64 // ns
}

type programTime struct {
	knownCPU int64 // lower bound, not attributed yet, ns
	ended    int64 // children; 0: not counted
}

const (
	maxPrograms = 1 << 10
	fewSamples  = 16 // of a program: below, they do not show where all its time goes
)

func (c *childTime) add(program string, t programTime) {
	if c.programs == nil {
		c.programs = map[string]programTime{}
	}
	before, known := c.programs[program]
	if known || len(c.programs) < maxPrograms {
		c.programs[program] = programTime{before.knownCPU + t.knownCPU, before.ended + t.ended}
	}
}

// distributeCounted divides each program's time among its samples, at the end all of it. It returns the rest of total,
// ns.
func (c *childTime) distributeCounted(total, now int64, when distribution, emitWeight func(weightKey, int64)) (
	left int64,
) {
	if !c.programsComplete || total <= 0 {
		return total
	}
	byProgram := c.samples.takeByProgram()
	due := c.timePerProgram(total, when, byProgram)
	left = total
	for _, program := range slices.Sorted(maps.Keys(due)) {
		samples := cmp.Or(byProgram[program], &weightedSamples{})
		rest := samples.distribute(due[program], c.extraWeight(samples, due[program]), emitWeight)
		if when == atEnd {
			delete(byProgram, program)
			emitRest(program, now, rest, emitWeight)
			rest = 0
		}
		left -= due[program] - rest
	}
	for _, program := range slices.Sorted(maps.Keys(byProgram)) {
		c.samples.merge(byProgram[program])
	}
	return left
}

// extraWeight returns what the weights of a program's samples lack of its time, ns; of few samples at most what they
// lack by chance, and the weights of samples whose place is unknown.
func (c *childTime) extraWeight(samples *weightedSamples, time int64) int64 {
	lacked := time - samples.weightSum
	if samples.sampleCount < fewSamples {
		return min(lacked, samples.samplingError()+c.unknownWeight)
	}
	return lacked
}

func (c *childTime) timePerProgram(
	total int64, when distribution, byProgram map[string]*weightedSamples,
) map[string]int64 {
	programs, known, ends := c.knownPrograms()
	due := map[string]int64{}
	shares := divider{total: min(total, known), weightSum: known}
	for _, program := range programs {
		due[program] = shares.next(c.programs[program].knownCPU)
	}
	if excess := c.excess(total-known, byProgram); when == atEnd && excess > 0 && ends > 0 {
		for _, program := range programs {
			due[program] += sample.Portion(excess, c.programs[program].ended, ends)
		}
	}
	return due
}

// excess returns the part of unknown, the time beyond all known times, that programs with known time get, ns.
func (c *childTime) excess(unknown int64, byProgram map[string]*weightedSamples) int64 {
	excess := min(unknown, c.countedCPU)
	for program, samples := range byProgram {
		if c.programs[program].knownCPU <= 0 {
			excess -= samples.weightSum
		}
	}
	return excess
}

// knownPrograms returns the programs with known time, that time, ns, and their ends of children.
func (c *childTime) knownPrograms() (names []string, cpu, ends int64) {
	for program, t := range c.programs {
		if t.knownCPU > 0 {
			names = append(names, program)
			cpu += t.knownCPU
			ends += t.ended
		}
	}
	slices.Sort(names)
	return names, cpu, ends
}

// distributeKnown returns the rest of total, ns.
func (c *childTime) distributeKnown(total, now int64, emitWeight func(weightKey, int64)) (left int64) {
	if total <= 0 {
		return total
	}
	programs, known, _ := c.knownPrograms()
	shares := divider{total: min(total, known), weightSum: known}
	for _, program := range programs {
		emitRest(program, now, shares.next(c.programs[program].knownCPU), emitWeight)
	}
	return total - shares.total
}

// emitRest emits the time of a program's children without a sample.
func emitRest(program string, now, ns int64, emitWeight func(weightKey, int64)) {
	if ns > 0 {
		place := Place{State: sample.Running, Program: program, ChildState: ChildProgramOnly}
		emitWeight(weightKey{place, now / 1e9}, ns)
	}
}
