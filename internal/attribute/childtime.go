// SPDX-License-Identifier: Apache-2.0

package attribute

import (
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

// distributeCounted returns the rest of total, ns.
func (c *childTime) distributeCounted(total, now int64, when distribution, emitWeight func(weightKey, int64)) (
	left int64,
) {
	if !c.programsComplete || total <= 0 {
		return total
	}
	byProgram := c.samples.byProgram()
	left = total
	due := c.timePerProgram(total, when, byProgram)
	for _, program := range slices.Sorted(maps.Keys(due)) {
		samples, ns := byProgram[program], due[program]
		if samples == nil {
			samples = &weightedSamples{}
		}
		extraWeight := ns - samples.weightSum
		if samples.sampleCount < fewSamples {
			extraWeight = min(extraWeight, samples.samplingError()+c.unknownWeight)
		}
		rest := samples.distribute(ns, extraWeight, emitWeight)
		if when == atEnd {
			delete(byProgram, program)
			if rest > 0 {
				emitWeight(programKey(program, now), rest)
			}
			rest = 0
		}
		left -= ns - rest
	}
	for _, program := range slices.Sorted(maps.Keys(byProgram)) {
		c.samples.merge(byProgram[program])
	}
	return left
}

func (c *childTime) timePerProgram(
	total int64, when distribution, byProgram map[string]*weightedSamples,
) map[string]int64 {
	due := map[string]int64{}
	var sum, ends int64
	for _, t := range c.programs {
		if t.knownCPU > 0 {
			sum += t.knownCPU
			ends += t.ended
		}
	}
	if sum == 0 {
		return due
	}
	excess := min(max(total-sum, 0), c.countedCPU)
	for program, samples := range byProgram {
		if c.programs[program].knownCPU <= 0 {
			excess -= samples.weightSum
		}
	}
	known := divider{total: min(total, sum), weightSum: sum}
	for _, program := range slices.Sorted(maps.Keys(c.programs)) {
		t := c.programs[program]
		if t.knownCPU <= 0 {
			continue
		}
		due[program] = known.next(t.knownCPU)
		if when == atEnd && excess > 0 && ends > 0 {
			due[program] += sample.Portion(excess, t.ended, ends)
		}
	}
	return due
}

// distributeKnown returns the rest of total, ns.
func (c *childTime) distributeKnown(total, now int64, emitWeight func(weightKey, int64)) (left int64) {
	var sum int64
	for _, t := range c.programs {
		sum += max(t.knownCPU, 0)
	}
	if sum == 0 || total <= 0 {
		return total
	}
	known := divider{total: min(total, sum), weightSum: sum}
	for _, program := range slices.Sorted(maps.Keys(c.programs)) {
		if share := known.next(max(c.programs[program].knownCPU, 0)); share > 0 {
			emitWeight(programKey(program, now), share)
		}
	}
	return total - known.total
}

func programKey(program string, now int64) weightKey {
	return weightKey{Place{State: sample.Running, Program: program, ChildState: ChildProgramOnly}, now / 1e9}
}
