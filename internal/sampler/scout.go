package sampler

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/target"
)

// scoutEvery is how often new processes are looked for, at most; scoutShare bounds
// the share of a processor that the search may take. A process that lives shorter
// may be missed.
const (
	scoutEvery = 20 * time.Millisecond
	scoutShare = 50
)

// scout finds the processes that those sampled start, until ctx ends. It only
// looks at /proc: the accountant opens what it finds, because it owns the images.
func (s *Sampler) scout(ctx context.Context) {
	known := map[int]bool{}
	s.mu.Lock()
	for t := range s.targets {
		known[t.PID] = true
	}
	s.mu.Unlock()
	var took time.Duration
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(scoutEvery, scoutShare*took)):
		}
		start := time.Now()
		s.find(ctx, known)
		took = time.Since(start)
	}
}

// find reports the children of known processes, their children included, and
// forgets those that have ended: their numbers may be used anew.
func (s *Sampler) find(ctx context.Context, known map[int]bool) {
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
		for _, kid := range target.Children(pid) {
			todo = append(todo, kid)
			if known[kid] {
				continue
			}
			known[kid] = true
			select {
			case s.found <- kid:
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

// adopt opens a process that the scout has found. It is not an error if that is
// not possible: it may be gone, or have other rights.
func (s *Sampler) adopt(pid int) {
	if t, err := s.images.Open(pid); err == nil {
		s.take(&process{target: t, child: true})
	}
}
