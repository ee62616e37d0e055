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

// likelyOwner is the owner of the samples of a profile of blame that rests on a guess.
const likelyOwner = "likely"

// likelyOwners guesses the owners of locks that store none: of Go and of Python. While exactly one thread or task is in
// a function that was seen to wait for the lock, and does not wait for it itself, that one likely holds it. Of Go the
// locks that one function takes are one, as a recording has no addresses.
type likelyOwners struct {
	waits   map[lockID][]*profile.Sample
	order   []lockID
	takes   map[pidFunction][]lockID
	holders map[lockID][]timedSample // times with exactly one
}

type pidFunction struct {
	pid  int64
	name string
}

func newLikelyOwners(p *profile.Profile, wall int) *likelyOwners {
	l := &likelyOwners{waits: map[lockID][]*profile.Sample{}, takes: map[pidFunction][]lockID{},
		holders: map[lockID][]timedSample{}}
	waiting := view.NewWaiting(p)
	lockOfSample := map[*profile.Sample]lockID{}
	for _, s := range p.Sample {
		id, ok := bareLock(s, waiting)
		if !ok || view.NumLabel(s, rec.LabelEnd) == 0 {
			continue
		}
		lockOfSample[s] = id
		if l.waits[id] == nil {
			l.order = append(l.order, id)
		}
		l.waits[id] = append(l.waits[id], s)
		f := pidFunction{id.pid, waiting.Function(s)}
		if !slices.Contains(l.takes[f], id) {
			l.takes[f] = append(l.takes[f], id)
		}
	}
	inside := map[lockID][]timedSample{}
	for _, s := range p.Sample {
		end := view.NumLabel(s, rec.LabelEnd)
		for _, id := range l.takenIn(s) {
			if end != 0 && lockOfSample[s] != id {
				inside[id] = append(inside[id], timedSample{end - s.Value[wall], end, s})
			}
		}
	}
	for id, list := range inside {
		l.holders[id] = timesOfOne(list)
	}
	return l
}

// bareLock returns the lock that a sample waits for if it stores no owner.
func bareLock(s *profile.Sample, waiting *view.Waiting) (id lockID, ok bool) {
	id = lockOf(s)
	if view.Label(s, rec.LabelTask) == languages.GoroutineTask {
		lock, isLock := strings.CutSuffix(strings.TrimSuffix(view.Label(s, rec.LabelWait), "RLock"), "Lock")
		id.name = string(waits.Mutex) + " " + strings.TrimSuffix(lock, ".") + " in " + waiting.Function(s)
		return id, strings.HasPrefix(lock, "sync.") && (isLock || lock != view.Label(s, rec.LabelWait))
	}
	l := waits.ParseLabel(id.name)
	return id, l.Type == languages.PythonLock && l.Object != "" && waiting.IdleRule(s) == ""
}

// takenIn returns the locks that functions on a sample's stack take.
func (l *likelyOwners) takenIn(s *profile.Sample) (ids []lockID) {
	pid := view.NumLabel(s, rec.LabelPID)
	for _, at := range s.Location {
		for i := range at.Line {
			if f := at.Line[i].Function; f != nil {
				for _, id := range l.takes[pidFunction{pid, f.Name}] {
					if !slices.Contains(ids, id) {
						ids = append(ids, id)
					}
				}
			}
		}
	}
	return ids
}

// timesOfOne returns the times in which exactly one sample of a list lasts.
func timesOfOne(list []timedSample) (times []timedSample) {
	type edge struct {
		at     int64
		begins bool
		sample *profile.Sample
	}
	var edges []edge
	for _, t := range list {
		if t.from < t.to {
			edges = append(edges, edge{t.from, true, t.sample}, edge{t.to, false, t.sample})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	lasting := map[*profile.Sample]bool{}
	for i, e := range edges {
		if i > 0 && len(lasting) == 1 && edges[i-1].at < e.at {
			for s := range lasting {
				times = append(times, timedSample{edges[i-1].at, e.at, s})
			}
		}
		if lasting[e.sample] = true; !e.begins {
			delete(lasting, e.sample)
		}
	}
	return times
}

// firstLikely is above all thread IDs: locks with likely owners have a thread each, which consists of their holders.
const firstLikely = 1 << 32

// addLikely adds the waits for locks with a likely owner at some time.
func (b *blameBuilder) addLikely(l *likelyOwners, clocks *view.ClockIndices) {
	for n, id := range l.order {
		if len(l.holders[id]) == 0 {
			continue
		}
		owner := int64(firstLikely + n)
		b.byThread[owner], b.likely[id] = l.holders[id], true
		for _, s := range l.waits[id] {
			blocked := clocks.Blocked(s)
			if blocked <= 0 {
				continue
			}
			if b.waiter[id] == nil {
				b.waiter[id] = s
			}
			end, shares := view.NumLabel(s, rec.LabelEnd), &blameShares{lengths: map[blameKey]int64{}}
			b.attributePart(id, owner, end-s.Value[b.wall], end, shares)
			shares.rename(blameKey{id, nil, ownerNotSampled}, blameKey{id, nil, ownerUnknown})
			shares.divide(blocked, b.add)
			if b.err != nil {
				return
			}
		}
	}
}

func (s *blameShares) rename(from, to blameKey) {
	if i := slices.Index(s.keys, from); i >= 0 {
		s.keys[i], s.lengths[to] = to, s.lengths[from]
	}
}
