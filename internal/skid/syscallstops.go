// SPDX-License-Identifier: Apache-2.0

package skid

import "prywalk/internal/sample"

const (
	// A thread makes many calls from when the share of its stops at the end of a call is above manyAbove until it is
	// below manyUntil.
	manyAbove = 0.2
	manyUntil = 0.03
	// maxCarryTime is how long CPU time is carried to the next exact sample, ns.
	maxCarryTime = 4e9
	// recentStops is the number of stops over which the share is averaged.
	recentStops  = 32
	decidedAfter = 8 // stops until a thread is taken not to make many calls
)

// SyscallStops records how often a thread stops at the end of a system call.
type SyscallStops struct {
	share   float64 // of the recent stops
	stops   float64 // at most recentStops
	many    bool
	inexact bool  // no stop is exact: CPU time that waits for exact samples would go to sleepers only
	exactAt int64 // last exact sample, or begin of many, CLOCK_MONOTONIC ns
}

// noteStop records a stop of a thread on a CPU. inSyscall: at the end of a call.
func (s *SyscallStops) noteStop(now int64, inSyscall bool) {
	atCallEnd := 0.0
	if inSyscall {
		atCallEnd = 1
	}
	s.stops = min(s.stops+1, recentStops)
	s.share += (atCallEnd - s.share) / s.stops
	many := !s.inexact && (s.share > manyAbove || s.many && s.share >= manyUntil)
	if many && !s.many {
		s.exactAt = now
	}
	s.many = many
}

// carriesCPU reports whether CPU time of an inexact sample is carried to the next exact one.
func (s *SyscallStops) carriesCPU(now int64) bool {
	return s.many && now-s.exactAt < maxCarryTime
}

// Basis is how far an inexact sample shows where CPU time was spent.
func (s *SyscallStops) Basis() sample.Basis {
	switch {
	case s.many:
		return sample.ManyCalls
	case s.stops < decidedAfter:
		return sample.Undecided
	}
	return sample.FewCalls
}

// HasManyCalls reports whether only samples from the thread's own CPU are exact.
func (s *SyscallStops) HasManyCalls() bool { return s.many }
