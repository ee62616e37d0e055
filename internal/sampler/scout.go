// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/ownruntime"
	procs "prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

// scoutEvery is how often new processes are looked for, at most; scoutShare bounds
// the share of a processor that the search may take. A process that lives shorter
// may be missed.
const (
	scoutEvery = 20 * time.Millisecond
	scoutShare = 50
	// scoutIdle is how often they are looked for where nobody was born, as far as the kernel tells ([procmem.Births]).
	scoutIdle = 500 * time.Millisecond
)

// scout finds the processes that those sampled start, until ctx ends. It only
// looks at /proc: the accountant opens what it finds, because it owns the images.
func (s *Sampler) scout(ctx context.Context) {
	known := map[int]uint64{}
	s.mu.Lock()
	for t := range s.targets {
		known[t.PID] = t.StartTime
	}
	s.mu.Unlock()
	births, err := procmem.OpenBirths()
	if err == nil {
		defer births.Close()
	}
	var took time.Duration
	var search searches
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(scoutEvery, scoutShare*took)):
		}
		// Asked before the search: who is born while it goes on is not seen by it, perhaps.
		if search.due(procmem.Now(), err != nil || births.Any()) {
			took = ownruntime.CPUOf(func() { s.find(ctx, known) })
		}
	}
}

// searches decides when the scout goes through all processes. It reads a file for each of their threads. That took a
// fifth of prywalk's processor time with a JVM that starts nobody.
type searches struct {
	last  int64 // when the last one was, CLOCK_MONOTONIC ns; 0: none
	again bool  // somebody had been born before it
}

// due reports whether there is to be one now. born: somebody has been born since this was asked last, on the whole
// machine. Then there are two. A parent can end in the first, after whose children's next parent was read.
func (s *searches) due(now int64, born bool) bool {
	if !born && !s.again && s.last != 0 && now-s.last < int64(scoutIdle) {
		return false
	}
	s.last, s.again = now, born
	return true
}

// unopened are children that could not be opened for lack of descriptors. The scout and the accountant share it.
type unopened struct {
	mu      sync.Mutex
	waiting map[int]uint64 // when they were started, by number
	tried   int64          // when they were found again last, CLOCK_MONOTONIC ns
}

// note takes note of a process that was opened, or was not. Who ends while it waits has not been.
func (u *unopened) note(f found, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err == nil:
		delete(u.waiting, f.pid)
	case refusal.Of(err) != refusal.NoFiles:
	case u.waiting == nil:
		u.waiting = map[int]uint64{f.pid: f.start}
	default:
		u.waiting[f.pid] = f.start
	}
}

// retry has those that wait found again: others may have ended meanwhile.
func (u *unopened) retry(now int64, known map[int]uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now-u.tried < int64(scoutIdle) {
		return
	}
	u.tried = now
	for pid, start := range u.waiting {
		if known[pid] == start {
			known[pid] = 0 // which no start is
		}
	}
}

// number gives how many processes were never opened.
func (u *unopened) number() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return int64(len(u.waiting))
}

// find reports the children of known processes, their children included, and
// forgets those that have ended: their numbers may be used anew.
func (s *Sampler) find(ctx context.Context, known map[int]uint64) {
	s.unopened.retry(procmem.Now(), known)
	seen := map[int]bool{}
	todo := make([]int, 0, len(known))
	for pid := range known {
		todo = append(todo, pid)
	}
	for len(todo) > 0 {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		for _, kid := range procs.Children(pid) {
			todo = append(todo, kid)
			start := startTime(kid)
			if start == 0 || known[kid] == start {
				continue
			}
			known[kid] = start
			select {
			case s.found <- found{kid, pid, start}:
			case <-ctx.Done():
				return
			}
		}
	}
	for pid := range known {
		if unix.Kill(pid, 0) == unix.ESRCH {
			delete(known, pid)
		}
	}
}

// found is a process that the scout has found: its number, its parent then, and when it was started, in
// clock ticks after boot. A number that is used anew is another process.
type found struct {
	pid    int
	parent int
	start  uint64
}

// startTime gives when a process was started, 0 if there is none.
func startTime(pid int) uint64 {
	var st procmem.Stat
	if procmem.ReadStat(pid, &st) != nil {
		return 0
	}
	return st.StartTime
}

// adopt opens a process that the scout has found. It is not an error if that is
// not possible: it may be gone, or have other rights. Where descriptors are missing, it is found again.
func (s *Sampler) adopt(f found) {
	t, err := s.images.Open(f.pid)
	s.unopened.note(f, err)
	switch {
	case err != nil:
	case t.StartTime != f.start: // it has ended, and somebody else got its number
		_ = t.Close() // of descriptors that were only read
	default:
		s.add(t, true, f.parent)
	}
}
