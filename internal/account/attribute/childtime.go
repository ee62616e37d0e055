// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"slices"

	"prywalk/internal/base/sample"
)

// childTime is the time of unobserved children, and what divides it.
type childTime struct {
	samples       weightedSamples
	undistributed int64            // ns
	unknownWeight int64            // of samples whose place is unknown, ns
	programs      map[string]int64 // CPU time that is known and not attributed yet, ns: a lower bound
}

const maxPrograms = 1 << 10

func (c *childTime) add(program string, ns int64) {
	if c.programs == nil {
		c.programs = map[string]int64{}
	}
	before, known := c.programs[program]
	if known || len(c.programs) < maxPrograms {
		c.programs[program] = before + ns
	}
}

// distributeKnown attributes known times, and returns the rest of total, ns.
func (c *childTime) distributeKnown(total, now int64, emitWeight func(weightKey, int64)) (left int64) {
	if total <= 0 {
		return total
	}
	known := int64(0)
	for _, ns := range c.programs {
		known += max(ns, 0)
	}
	shares := divider{total: min(total, known), weightSum: known}
	for _, program := range slices.Sorted(maps.Keys(c.programs)) {
		if due := c.programs[program]; due > 0 {
			place := Place{State: sample.Running, Program: program, ChildState: ChildProgramOnly}
			emitWeight(weightKey{place, now / 1e9}, shares.next(due))
		}
	}
	return total - shares.total
}
