// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/sample"
)

type childPool struct {
	weights          timePool
	passedOn         int64 // passed on by observed children, ns
	unplacedWeight   int64 // Σ weights without a usable place, ns
	programs         map[string]*programTime
	programsComplete bool  // all unobserved children are in programs
	countedCPU       int64 // in programs so far, ns
}

type programTime struct {
	knownCPU int64 // lower bound of what is not attributed yet, ns
	ended    int64 // number of ended children; 0: not counted
}

const mostPrograms = 1 << 10

func (c *childPool) addKnownCPU(program string, ns int64) {
	if c.programs == nil {
		c.programs = map[string]*programTime{}
	}
	if c.programs[program] != nil || len(c.programs) < mostPrograms {
		c.program(program).knownCPU += ns
	}
}

func (c *childPool) addEnded(program string, n int64) {
	if t := c.programs[program]; t != nil {
		t.ended += n
	}
}

func (c *childPool) program(program string) *programTime {
	t := c.programs[program]
	if t == nil {
		t = &programTime{}
		c.programs[program] = t
	}
	return t
}

func (c *childPool) knownCPUOf(program string) int64 {
	if t := c.programs[program]; t != nil {
		return t.knownCPU
	}
	return 0
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
		pool.divideMissed()
		slack := ns - pool.total
		if pool.sampleCount < shortProcess { // too few to show where all its time goes
			slack = min(slack, pool.samplingError()+c.unplacedWeight)
		}
		rest := pool.distribute(ns, slack, emitWeight)
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
		if c.knownCPUOf(program) <= 0 {
			excess -= pool.total
		}
	}
	gives, passed, given := min(total, sum), int64(0), int64(0)
	for _, program := range slices.Sorted(maps.Keys(c.programs)) {
		t := c.programs[program]
		if t.knownCPU <= 0 {
			continue
		}
		passed += t.knownCPU
		due[program] = sample.Portion(gives, passed, sum) - given
		given += due[program]
		if last && excess > 0 && ends > 0 {
			due[program] += sample.Portion(excess, t.ended, ends)
		}
	}
	return due
}

// distributeKnown attributes the known time of programs, up to total ns, and returns the rest of total.
func (c *childPool) distributeKnown(total, now int64, emitWeight func(weightKey, int64)) (left int64) {
	var sum, passed, given int64
	for _, t := range c.programs {
		sum += max(t.knownCPU, 0)
	}
	if sum == 0 || total <= 0 {
		return total
	}
	gives := min(total, sum)
	for _, program := range slices.Sorted(maps.Keys(c.programs)) {
		passed += max(c.knownCPUOf(program), 0)
		if share := sample.Portion(gives, passed, sum) - given; share > 0 {
			given += share
			emitWeight(programKey(program, now), share)
		}
	}
	return total - gives
}

func programKey(program string, now int64) weightKey {
	return weightKey{Place{State: sample.Running, Program: program, Found: FoundProgramOnly}, now / 1e9}
}
