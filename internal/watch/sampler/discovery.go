// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"context"
	"errors"
	"maps"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/monotonic"
	procs "prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
)

const (
	// minDiscoverInterval is the shortest interval between searches, which take at most 1/discoverShare of a CPU.
	minDiscoverInterval = 20 * time.Millisecond
	discoverShare       = 50
	// lowOverheadDivisor divides that part, with LowOverhead.
	lowOverheadDivisor = 4
	// idleDiscoverInterval is the interval while no task is created ([procmem.PIDCounter]).
	idleDiscoverInterval = 500 * time.Millisecond
	minSelectInterval    = time.Second // for searches by a rule
)

func (s *Sampler) discover(ctx context.Context) {
	known := s.knownAtStart()
	creations, err := procmem.OpenPIDCounter()
	if err == nil {
		defer creations.Close()
	}
	share := time.Duration(discoverShare)
	if s.opts.LowOverhead {
		share *= lowOverheadDivisor
	}
	children, rule := childrenSearch{}, ruleSearch{last: procmem.Moment()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(minDiscoverInterval, share*children.took)):
		}
		now := procmem.Moment() // a search may miss tasks created after its start
		s.unopened.retry(now, known)
		if s.opts.Children && children.startIfDue(now, err != nil || creations.Advanced()) {
			children.took = selfruntime.CPUTimeOf(func() { s.findChildren(ctx, known) })
		}
		if s.opts.Select != nil && rule.startIfDue(now, share) {
			rule.took = selfruntime.CPUTimeOf(func() { s.selectNew(ctx, known) })
		}
	}
}

// knownAtStart returns the starts of the processes that are sampled or refused, by PID.
func (s *Sampler) knownAtStart() map[int]uint64 {
	known := map[int]uint64{}
	s.mu.Lock()
	for target := range s.targets {
		known[target.PID] = target.StartTime
	}
	s.mu.Unlock()
	for _, pid := range s.opts.Refused {
		known[pid] = startTime(pid)
	}
	return known
}

// childrenSearch is the schedule of searches for children.
type childrenSearch struct {
	last   monotonic.Moment // 0 if none
	repeat bool             // a task was created before the last one
	took   time.Duration    // CPU time
}

// startIfDue begins a search if one is due, and returns whether it is. Two searches follow a creation: children of a
// parent that ends during a search go to a process that may have been read already.
func (s *childrenSearch) startIfDue(now monotonic.Moment, created bool) bool {
	if !created && !s.repeat && s.last != 0 && now.Sub(s.last) < idleDiscoverInterval {
		return false
	}
	s.last, s.repeat = now, created
	return true
}

// ruleSearch is the schedule of searches by a rule.
type ruleSearch struct {
	last monotonic.Moment
	took time.Duration // CPU time
}

// startIfDue begins a search if one is due, and returns whether it is. Searches take at most 1/share of a CPU.
func (s *ruleSearch) startIfDue(now monotonic.Moment, share time.Duration) bool {
	if now.Sub(s.last) <= max(minSelectInterval, share*s.took) {
		return false
	}
	s.last = now
	return true
}

// unopened holds processes that could not be opened for lack of descriptors or of room in the tracer's queue. Safe for
// concurrent use.
type unopened struct {
	mu        sync.Mutex
	waiting   map[int]uint64 // starts by PID
	lastRetry monotonic.Moment
	full      bool // descriptors were lacking since then
}

func (u *unopened) update(f foundProcess, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.full = u.full || errs.Of(err) == errs.NoFiles
	switch {
	case err == nil:
		delete(u.waiting, f.pid)
	case errs.Of(err) != errs.NoFiles && !errors.Is(err, errQueueFull):
	case u.waiting == nil:
		u.waiting = map[int]uint64{f.pid: f.start}
	default:
		u.waiting[f.pid] = f.start
	}
}

func (u *unopened) retry(now monotonic.Moment, known map[int]uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Sub(u.lastRetry) < idleDiscoverInterval {
		return
	}
	u.lastRetry, u.full = now, false
	for pid, start := range u.waiting {
		if known[pid] == start {
			known[pid] = 0
		}
	}
}

// isFull reports whether descriptors were lacking since the last retry.
func (u *unopened) isFull() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.full
}

func (u *unopened) count() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return int64(len(u.waiting))
}

func (s *Sampler) findChildren(ctx context.Context, known map[int]uint64) {
	seen := map[int]bool{}
	self := os.Getpid()
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
		for _, child := range procs.Children(pid) {
			todo = append(todo, child)
			start := startTime(child)
			if start == 0 || known[child] == start || child == self {
				continue
			}
			known[child] = start
			if !s.sendFound(ctx, foundProcess{pid: child, parent: pid, start: start}) {
				return
			}
		}
	}
	forgetEnded(known)
}

func (s *Sampler) selectNew(ctx context.Context, known map[int]uint64) {
	for _, pid := range s.opts.Select() {
		start := startTime(pid)
		if start == 0 || known[pid] == start {
			continue
		}
		known[pid] = start
		if !s.sendFound(ctx, foundProcess{pid: pid, start: start, selected: true}) {
			return
		}
	}
	forgetEnded(known)
}

// sendFound passes a process to the aggregator; false means that ctx has ended.
func (s *Sampler) sendFound(ctx context.Context, f foundProcess) bool {
	select {
	case s.found <- f:
		return true
	case <-ctx.Done():
		return false
	}
}

func forgetEnded(known map[int]uint64) {
	for pid := range known {
		if unix.Kill(pid, 0) == unix.ESRCH {
			delete(known, pid)
		}
	}
}

// foundProcess has its start in clock ticks after boot.
type foundProcess struct {
	pid      int
	parent   int // 0 means unknown
	start    uint64
	selected bool // by a rule
}

// startTime is 0 if the process has ended.
func startTime(pid int) uint64 {
	var st procmem.Stat
	if procmem.ReadStat(pid, &st) != nil {
		return 0
	}
	return st.StartTime
}

func (s *Sampler) countRefused(err error) {
	if why := errs.Of(err); why != errs.Exited && why != errs.NoFiles {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.refused == nil {
			s.refused = map[string]int64{}
		}
		s.refused[why.Word()]++
	}
}

// Refused counts selected processes that could not be opened, by reason: a copy, or nil. Safe for concurrent use.
func (s *Sampler) Refused() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.refused)
}

var errQueueFull = errors.New("the tracer's queue is full")

// keptFree is the number of descriptors that must be free before one more process is opened: for itself, and for reads
// of the processes already open and for searches, which would find nothing without.
const keptFree = 12

func (s *Sampler) openFound(f foundProcess) {
	if s.unopened.isFull() || !procmem.DescriptorsFree(keptFree) {
		s.unopened.update(f, unix.EMFILE)
		return
	}
	target, err := s.images.Open(f.pid)
	switch {
	case err != nil && f.selected:
		s.countRefused(err)
	case err != nil:
	case target.StartTime != f.start: // the PID was reused
		_ = target.Close()
	case !s.add(target, true, f.parent):
		err = errQueueFull
	}
	s.unopened.update(f, err)
}
