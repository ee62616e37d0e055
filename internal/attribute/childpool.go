// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/sample"
)

// childPool is the CPU time of a process's unobserved children, and what divides it: samples by weight, and known times
// by program.
type childPool struct {
	weights          timePool
	undistributed    int64 // CPU time to distribute, also of observed children that passed it on, ns
	unplacedWeight   int64 // Σ weights without a usable place, ns
	programs         map[string]programTime
	programsComplete bool  // all unobserved children are in programs
	countedCPU       int64 // in programs so far, ns
}

type programTime struct {
	knownCPU int64 // lower bound of what is not attributed yet, ns
	ended    int64 // number of ended children; 0: not counted
}

const maxPrograms = 1 << 10

// add adds to a program's time and number of ended children, of the first maxPrograms programs.
func (c *childPool) add(program string, t programTime) {
	if c.programs == nil {
		c.programs = map[string]programTime{}
	}
	before, known := c.programs[program]
	if known || len(c.programs) < maxPrograms {
		c.programs[program] = programTime{before.knownCPU + t.knownCPU, before.ended + t.ended}
	}
}

// distributeCounted attributes total ns by program if the times of programs are complete, and returns the rest. last:
// no more follows.
func (c *childPool) distributeCounted(total, now int64, last bool, emitWeight func(weightKey, int64)) (left int64) {
	if !c.programsComplete || total <= 0 {
		return total
	}
	pools := c.weights.byProgram()
	left = total
	due := c.timePerProgram(total, last, pools)
	for _, program := range slices.Sorted(maps.Keys(due)) {
		pool, ns := pools[program], due[program]
		if pool == nil {
			pool = &timePool{}
		}
		extraWeight := ns - pool.weightSum
		if pool.sampleCount < shortProcessPeriods { // too few to show where all its time goes
			extraWeight = min(extraWeight, pool.samplingError()+c.unplacedWeight)
		}
		rest := pool.distribute(ns, extraWeight, emitWeight)
		if last {
			delete(pools, program)
			if rest > 0 {
				emitWeight(programKey(program, now), rest)
			}
			rest = 0
		}
		left -= ns - rest
	}
	for _, program := range slices.Sorted(maps.Keys(pools)) {
		c.weights.merge(pools[program])
	}
	return left
}

// timePerProgram returns each program's part of total, ns; the last call divides the excess by exits.
func (c *childPool) timePerProgram(total int64, last bool, pools map[string]*timePool) map[string]int64 {
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
	for program, pool := range pools {
		if c.programs[program].knownCPU <= 0 {
			excess -= pool.weightSum
		}
	}
	known := divider{total: min(total, sum), weightSum: sum}
	for _, program := range slices.Sorted(maps.Keys(c.programs)) {
		t := c.programs[program]
		if t.knownCPU <= 0 {
			continue
		}
		due[program] = known.next(t.knownCPU)
		if last && excess > 0 && ends > 0 {
			due[program] += sample.Portion(excess, t.ended, ends)
		}
	}
	return due
}

// distributeKnown attributes the known time of programs, up to total ns, and returns the rest of total.
func (c *childPool) distributeKnown(total, now int64, emitWeight func(weightKey, int64)) (left int64) {
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
