// SPDX-License-Identifier: Apache-2.0

package idle

const (
	// decideEvery is how often it is decided how long backoffs may be, in nanoseconds.
	decideEvery = 1e9
	// stretchFades: what was found fades by one part in so many each time, so that threads that wake up twice a
	// minute count.
	stretchFades = 32
)

// stretch decides how long the threads of a process that are backed off may be left alone: by how much of the
// process's time they are found to have used. Who sleeps for good can be looked at seldom. Where each of a thousand
// threads wakes up now and then, those bursts are most of what there is to see.
type stretch struct {
	times  int64 // how many times as long as at first backoffs may be, less one
	at     int64 // when that was decided last, CLOCK_MONOTONIC ns
	clock  uint64
	ran    int64 // processor time of the process lately, ns
	bursts int64 // that of threads that were backed off when they used it, ns
}

// factor gives how many times as long as at first backoffs may be.
func (s *stretch) factor() int64 { return s.times + 1 }

// burst takes note of the processor time that a thread has used since it was backed off.
func (s *stretch) burst(ns int64) { s.bursts += ns }

// decide looks at what was found, with the process's clock as of now.
func (s *stretch) decide(now int64, clock uint64) {
	if now-s.at < decideEvery {
		return
	}
	if s.at != 0 {
		s.ran += int64(clock - s.clock)
	}
	s.at, s.clock = now, clock
	switch {
	case s.bursts*burstShare > s.ran:
		s.times = 0
	case s.ran > 0: // else the clock, which stands still, tells more
		s.times = min(2*s.times+1, maxStretch-1)
	}
	s.ran -= s.ran / stretchFades
	s.bursts -= s.bursts / stretchFades
}
