package sampler

const (
	// slackEvery is how often it is decided how long naps may be, in nanoseconds.
	slackEvery = 1e9
	// slackFades: what was found fades by one part in so many each time, so that threads that wake up twice a minute
	// count.
	slackFades = 32
)

// slack decides how long the threads of a process that are backed off may be left alone: by how much of the process's
// time they are found to have used. Who sleeps for good can be looked at seldom; where each of
// a thousand threads wakes up now and then, those bursts are most of what there is to see.
type slack struct {
	times  int64 // how many times as long as at first naps may be, less one
	at     int64 // when that was decided last, CLOCK_MONOTONIC ns
	clock  uint64
	ran    int64 // processor time of the process lately, ns
	napped int64 // that of threads that were backed off when they used it, ns
}

// factor gives how many times as long as at first naps may be.
func (s *slack) factor() int64 { return s.times + 1 }

// overslept takes note of the processor time that a thread has used since it was backed off.
func (s *slack) overslept(ns int64) { s.napped += ns }

// decide looks at what was found, with the process's clock as of now.
func (s *slack) decide(now int64, clock uint64) {
	if now-s.at < slackEvery {
		return
	}
	if s.at != 0 {
		s.ran += int64(clock - s.clock)
	}
	s.at, s.clock = now, clock
	switch {
	case s.napped*slackShare > s.ran:
		s.times = 0
	case s.ran > 0: // else the clock, which stands still, tells more
		s.times = min(2*s.times+1, maxSlack-1)
	}
	s.ran -= s.ran / slackFades
	s.napped -= s.napped / slackFades
}
