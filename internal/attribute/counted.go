// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/sample"
)

// # Children with counted time
//
// Where the kernel records switches (package descendants), the CPU time of unobserved children is known by program
// ([Process.ChildCounted]). It is distributed among the program's samples if there are at least [shortProcess].
// Growth of cutime beyond it is mostly time of exits, after a child's last record: it is divided among programs by
// their exits.

// ChildCounted adds CPU time of an unobserved child in a program, ns. ended reports that the child has ended,
// exact that the counts now include all children.
func (p *Process) ChildCounted(program string, ns int64, ended, exact bool) {
	c := &p.children
	c.addUsed(program, ns)
	if c.counted = exact; !exact {
		return
	}
	c.countedSum += ns
	if ended {
		c.addEnded(program, 1)
	}
}

func (c *childPool) addEnded(program string, n int64) {
	if t := c.programs[program]; t != nil {
		t.ended += n
	}
}

// distributeCounted attributes total ns by program, if the times of programs are complete, and returns the rest.
// last reports that no more follows.
func (c *childPool) distributeCounted(total, now int64, last bool, emitWeight func(weightKey, int64)) (left int64) {
	if !c.counted || total <= 0 {
		return total
	}
	pools := c.weights.byProgram()
	left = total
	due := c.duePerProgram(total, last, pools)
	for _, program := range slices.Sorted(maps.Keys(due)) {
		pool, ns := pools[program], due[program]
		if pool == nil {
			pool = &timePool{}
		}
		pool.divideMissed()
		slack := ns - pool.total
		if pool.sampleCount < shortProcess {
			slack = min(slack, pool.samplingError()+c.unplaced)
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

// duePerProgram returns each program's part of total, ns. The last call divides the excess over the counted time
// by exits.
func (c *childPool) duePerProgram(total int64, last bool, pools map[string]*timePool) map[string]int64 {
	due := map[string]int64{}
	var sum, ends int64
	for _, t := range c.programs {
		if t.used > 0 {
			sum += t.used
			ends += t.ended
		}
	}
	if sum == 0 {
		return due
	}
	excess := min(max(total-sum, 0), c.countedSum)
	for program, pool := range pools {
		if c.used(program) <= 0 {
			excess -= pool.total + pool.samplingError()
		}
	}
	gives, passed, given := min(total, sum), int64(0), int64(0)
	for _, program := range slices.Sorted(maps.Keys(c.programs)) {
		t := c.programs[program]
		if t.used <= 0 {
			continue
		}
		passed += t.used
		due[program] = sample.Portion(gives, passed, sum) - given
		given += due[program]
		if last && excess > 0 && ends > 0 {
			due[program] += sample.Portion(excess, t.ended, ends)
		}
	}
	return due
}
