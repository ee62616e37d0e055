// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// likelyOwner is the owner's name in a profile of blame for time whose lock stores no owner (see addLikely).
const likelyOwner = "likely"

// firstLikely is above all thread IDs: a lock with likely owners has a thread, which consists of these.
const firstLikely = 1 << 32

// addLikely adds waits for locks of Go and of Python, which store no owner. While exactly one thread or task is in a
// function that was seen to wait for the lock, and does not wait for it itself, that one likely holds it. Of Go the
// locks that one function takes are one, as a recording has no addresses. A lock that has such an owner for less than
// half of the waits is left out: the function is then often outside of the lock.
func (b *blameBuilder) addLikely(p *profile.Profile, clocks *view.ClockIndices, waiting *view.Waiting) {
	lockOfSample, waiters := map[*profile.Sample]lockID{}, map[lockID][]*profile.Sample{}
	takes, inside := map[lockID][]lockID{}, map[lockID][]timedSample{} // takes by process and function
	var order []lockID
	known := map[[2]lockID]bool{} // pairs in takes
	for _, s := range p.Sample {
		id, ok := bareLock(s, waiting)
		if !ok || clocks.Blocked(s) <= 0 || view.NumLabel(s, rec.LabelEnd) == 0 {
			continue
		}
		if waiters[id] == nil {
			order = append(order, id)
		}
		lockOfSample[s], waiters[id] = id, append(waiters[id], s)
		if f := (lockID{id.pid, waiting.Function(s)}); !known[[2]lockID{f, id}] {
			known[[2]lockID{f, id}], takes[f] = true, append(takes[f], id)
		}
	}
	for _, s := range p.Sample {
		end := view.NumLabel(s, rec.LabelEnd)
		for _, id := range b.takenIn(s, takes) {
			if end != 0 && lockOfSample[s] != id {
				inside[id] = append(inside[id], timedSample{end - s.Value[b.wall], end, s})
			}
		}
	}
	for n, id := range order {
		owner := firstLikely + int64(n)
		if b.byThread[owner] = timesOfOne(inside[id]); len(b.byThread[owner]) == 0 {
			continue
		}
		shares, owned, all := make([]blameShares, len(waiters[id])), int64(0), int64(0)
		for i, s := range waiters[id] {
			end := view.NumLabel(s, rec.LabelEnd)
			shares[i].lengths = map[blameKey]int64{}
			b.attributePart(id, owner, end-s.Value[b.wall], end, &shares[i])
			all += s.Value[b.wall]
			owned += s.Value[b.wall] - shares[i].lengths[blameKey{id, nil, ownerUnknown}]
		}
		if 2*owned < all {
			continue
		}
		b.likely[id] = true
		b.waiter[id] = cmp.Or(b.waiter[id], waiters[id][0])
		for i, s := range waiters[id] {
			b.guess[s] = shares[i].most()
			shares[i].divide(clocks.Blocked(s), b.add)
		}
	}
}

// guessedOwners returns the thread that likely had the lock during most of each wait for a lock that stores no owner.
func guessedOwners(p *profile.Profile) map[*profile.Sample]int64 {
	clocks, ok := view.ClocksOf(p)
	waiting := view.NewWaiting(p, true)
	isBare := func(s *profile.Sample) bool {
		_, bare := bareLock(s, waiting)
		return bare
	}
	if !ok || !slices.ContainsFunc(p.Sample, isBare) {
		return nil
	}
	b := newBlameBuilder(p, clocks.Wall)
	defer b.memory.Close()
	if b.addLikely(p, &clocks, waiting); b.err != nil {
		return nil
	}
	return b.guess
}

// most returns the thread with the most time, 0 if that is of none.
func (s *blameShares) most() (tid int64) {
	times := map[int64]int64{}
	for _, k := range s.keys {
		owner := int64(0)
		if k.owner != nil {
			owner = view.NumLabel(k.owner, rec.LabelTID)
		}
		if times[owner] += s.lengths[k]; times[owner] > times[tid] {
			tid = owner
		}
	}
	return tid
}

// bareLock returns the lock that a sample waits for if it stores no owner.
func bareLock(s *profile.Sample, waiting *view.Waiting) (id lockID, ok bool) {
	id = lockOf(s)
	if wait := view.Label(s, rec.LabelWait); view.Label(s, rec.LabelTask) == languages.GoroutineTask {
		lock := strings.TrimSuffix(strings.TrimSuffix(wait, ".Lock"), ".RLock")
		id.name = string(waits.Mutex) + " " + lock + " in " + waiting.Function(s)
		return id, lock != wait
	}
	l := waits.ParseLabel(id.name)
	return id, l.Type == languages.PythonLock && l.Object != "" && waiting.IdleRule(s) == ""
}

// takenIn returns the locks that functions on a sample's stack take.
func (b *blameBuilder) takenIn(s *profile.Sample, takes map[lockID][]lockID) (ids []lockID) {
	pid := view.NumLabel(s, rec.LabelPID)
	for _, l := range s.Location {
		for i := range l.Line {
			if f := l.Line[i].Function; f != nil && b.err == nil {
				ids = append(ids, takes[lockID{pid, f.Name}]...)
				b.countSteps(len(ids))
			}
		}
	}
	slices.SortFunc(ids, func(x, y lockID) int { return strings.Compare(x.name, y.name) })
	return slices.Compact(ids)
}

// timesOfOne returns the times in which exactly one sample of a list lasts.
func timesOfOne(list []timedSample) (times []timedSample) {
	var edges []timedSample // of no length: the first one of a sample is its begin
	for _, t := range list {
		edges = append(edges, timedSample{t.from, t.from, t.sample}, timedSample{t.to, t.to, t.sample})
	}
	sortByTime(edges)
	lasting := map[*profile.Sample]bool{}
	for i, e := range edges {
		if i > 0 && len(lasting) == 1 && edges[i-1].from < e.from {
			for s := range lasting {
				times = append(times, timedSample{edges[i-1].from, e.from, s})
			}
		}
		if lasting[e.sample] {
			delete(lasting, e.sample)
		} else {
			lasting[e.sample] = true
		}
	}
	return times
}
