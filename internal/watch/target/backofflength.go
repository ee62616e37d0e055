// SPDX-License-Identifier: Apache-2.0

package target

import (
	"math/rand/v2"
	"time"

	"prywalk/internal/base/monotonic"
)

const (
	maxBackoff        = 120 * time.Millisecond  // mean
	maxSampledBackoff = 1920 * time.Millisecond // with kernel samples, which show the bursts
	// While the process's clock stands still, back-offs are prolonged to about this age of the observation.
	prolongedUpTo = time.Second

	sleepShare = 16 // a back-off is at most 1/16 of the thread's sleep so far

	pollCost    = time.Microsecond // of one observation of an unchanged thread
	pollShare   = 256              // they take 1/256 of the time, if that needs two ticks to maxBackoff between them
	searchShare = 64               // the same for searches of backed-off threads that have run

	clockError = 4 * time.Millisecond // of a process's clock for each running thread: a scheduler tick
)

// backoffLength returns the back-off of a thread found unchanged; 0 means none:
//
//	min(asleep / sleepShare, maxBackoff, cost of observing all threads × pollShare) ± 25 %
//
// asleep is the length of its sleep, period the mean distance of ticks; sampled means that the kernel samples the
// thread.
func backoffLength(asleep, period time.Duration, threads int, sampled bool, rng *rand.Rand) time.Duration {
	most := maxBackoff
	if sampled {
		most = maxSampledBackoff
	}
	length := min(asleep/sleepShare, pollingBackoff(threads, most))
	if length < 2*period {
		return 0
	}
	return randomized(length, rng)
}

// pollingBackoff returns the mean back-off with which observations of all threads take 1/pollShare of the time, but not
// more than most.
func pollingBackoff(threads int, most time.Duration) time.Duration {
	return min(most, time.Duration(threads)*pollCost*pollShare)
}

// randomized returns length ± 25 %.
func randomized(length time.Duration, rng *rand.Rand) time.Duration {
	return length - length/4 + time.Duration(rng.Int64N(int64(length/2)))
}

// sleepers holds threads by the end of their back-off. It allocates nothing in the steady state.
type sleepers struct {
	list  []sleeper
	ended []*Thread // result of takeEnded
}

type sleeper struct {
	until  monotonic.Moment
	thread *Thread
}

func (s *sleepers) put(th *Thread, until monotonic.Moment) {
	s.list = append(s.list, sleeper{until, th})
	th.backoff.place = len(s.list)
}

func (s *sleepers) remove(th *Thread) {
	last := len(s.list) - 1
	moved := s.list[last]
	s.list[th.backoff.place-1] = moved
	moved.thread.backoff.place = th.backoff.place
	s.list[last] = sleeper{}
	s.list = s.list[:last]
	th.backoff.place = 0
}

// takeEnded removes the threads whose back-off has ended. The result is valid until the next call.
func (s *sleepers) takeEnded(now monotonic.Moment) []*Thread {
	clear(s.ended)
	s.ended = s.ended[:0]
	for i := 0; i < len(s.list); {
		if s.list[i].until > now {
			i++
			continue
		}
		s.ended = append(s.ended, s.list[i].thread)
		s.remove(s.list[i].thread)
	}
	return s.ended
}
