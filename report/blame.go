// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/google/pprof/profile"

	"prywalk/internal/host/filememory"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// ErrNoLocks reports a recording without waits for locks with known owners.
var ErrNoLocks = errors.New("the recording has no wait for a lock whose owner prywalk records")

func noLocks(o *Options) error {
	return fmt.Errorf("%w; %s shows what threads waited for", ErrNoLocks, suggest("--by wait", o))
}

// Entries in place of an owner's stack.
const (
	ownerUnknown    = "[owner not known]"
	ownerNone       = "[lock free when read]"
	ownerParent     = "[taken in the parent before the fork]"
	ownerNotSampled = "[owner not seen]"
)

// maxLaterWaits bounds the time for one interval: the owner after so many later waits keeps the rest.
const maxLaterWaits = 1 << 12

// Blame returns a profile of the waiters' blocked time under the stacks of the locks' owners, without idle waits, as
// that of the launcher of a JVM for its main thread. Errors: [ErrNoLocks],
// [Filter]'s, too many overlapping waits, or the memory limit. From and To are applied, and cleared in the options.
//
// The recording has the owner at the start of each sleep. Later waits for the same lock divide the interval, and each
// part is divided among the stacks of its owner. Time without samples of the owner, or in which it waits for this lock
// itself, has no known owner. The parts add up to the interval's blocked time.
//
//	waiter   ├───────────────── blocked ─────────────────┤
//	owner    │ A: owner at the start  │ B: by a later wait│
//	to       │ A's stacks             │ B's stacks        │
//
// An interval of at most two ticks goes to the owner's stack at the tick of its end. Locks that store no owner can have
// likely ones ([blameBuilder.addLikely]).
func Blame(p *profile.Profile, o *Options) (*profile.Profile, error) {
	p, err := Filter(p, Options{From: o.From, To: o.To})
	if err != nil {
		return nil, err
	}
	o.From, o.To = 0, 0
	clocks, ok := view.ClocksOf(p)
	if !ok {
		return nil, noLocks(o)
	}
	b := newBlameBuilder(p, clocks.Wall)
	defer b.memory.Close()
	owned := map[lockID]bool{} // locks with an owner in some wait
	for _, s := range p.Sample {
		if view.NumLabel(s, rec.LabelOwner) != 0 {
			owned[lockOf(s)] = true
		}
	}
	waiting := view.NewWaiting(p, true)
	for _, s := range p.Sample {
		blocked := clocks.Blocked(s)
		if blocked > 0 && waiting.IdleRule(s) == "" && view.IsSynchronization(s) &&
			(view.WaitKind(s).HasOwner() || owned[lockOf(s)]) {
			b.addWait(s, blocked)
		}
		if b.err != nil {
			return nil, b.err
		}
	}
	if b.addLikely(p, &clocks, view.NewWaiting(p, true)); b.err != nil {
		return nil, b.err
	}
	if len(b.out.keys) == 0 {
		return nil, noLocks(o)
	}
	return b.profile(p), nil
}

type timedSample struct {
	from, to int64
	sample   *profile.Sample
}

type lockID struct {
	pid  int64
	name string
}

type blameKey struct {
	lock  lockID
	owner *profile.Sample // nil means that name is set
	name  string
}

type blameBuilder struct {
	byThread map[int64][]timedSample  // by tid, in order of time
	waits    map[lockID][]timedSample // beginnings, in order of time
	wall     int
	period   int64
	out      blameShares
	waiter   map[lockID]*profile.Sample
	likely   map[lockID]bool
	guess    map[*profile.Sample]int64 // threads that likely have the lock that a sample waits for
	held     map[lockID][]timedSample  // as seen by waiters; the samples are the owners'
	memory   *filememory.Account
	steps    int
	err      error
}

const (
	blameCost     = 1 << 10
	maxBlameSteps = 1 << 28
)

func (b *blameBuilder) countSteps(n int) {
	if b.steps += n; b.steps > maxBlameSteps && b.err == nil {
		b.err = errors.New("too many overlapping waits to attribute to lock owners; select a part of the recording with " +
			"--from and --to")
	}
}

func newBlameBuilder(p *profile.Profile, wall int) *blameBuilder {
	b := &blameBuilder{byThread: map[int64][]timedSample{}, waits: map[lockID][]timedSample{}, wall: wall,
		period: p.Period, out: blameShares{lengths: map[blameKey]int64{}}, waiter: map[lockID]*profile.Sample{},
		likely: map[lockID]bool{}, guess: map[*profile.Sample]int64{}, held: map[lockID][]timedSample{},
		memory: filememory.Process().AccountOfWhole("the report")}
	for _, s := range p.Sample {
		end := view.NumLabel(s, rec.LabelEnd)
		if end == 0 {
			continue
		}
		timed := timedSample{end - s.Value[wall], end, s}
		tid := view.NumLabel(s, rec.LabelTID)
		b.byThread[tid] = append(b.byThread[tid], timed)
		if view.IsSynchronization(s) {
			id := lockOf(s)
			b.waits[id] = append(b.waits[id], timed)
		}
	}
	for _, list := range b.byThread {
		sortByTime(list)
	}
	for _, list := range b.waits {
		sortByTime(list)
	}
	return b
}

func sortByTime(list []timedSample) {
	slices.SortStableFunc(list, func(a, b timedSample) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
}

func unownedKey(id lockID, owner int64) blameKey {
	switch owner {
	case rec.NoOwner:
		return blameKey{id, nil, ownerNone}
	case rec.ParentOwner:
		return blameKey{id, nil, ownerParent}
	}
	return blameKey{id, nil, ownerUnknown}
}

func lockOf(s *profile.Sample) lockID {
	return lockID{view.NumLabel(s, rec.LabelPID), view.Label(s, rec.LabelWaitsFor)}
}

func (b *blameBuilder) addWait(s *profile.Sample, blocked int64) {
	id := lockOf(s)
	if b.waiter[id] == nil {
		b.waiter[id] = s
	}
	end := view.NumLabel(s, rec.LabelEnd)
	shares := &blameShares{lengths: map[blameKey]int64{}}
	switch {
	case end == 0:
		shares.add(blameKey{id, nil, ownerNotSampled}, 1)
	case s.Value[b.wall] <= 2*b.period:
		key := b.ownerAtTick(id, view.LockOwner(s), end)
		b.addHeld(key, end-s.Value[b.wall], end)
		shares.add(key, 1)
	default:
		b.divide(id, s, end-s.Value[b.wall], end, shares)
	}
	if len(shares.keys) == 0 {
		shares.add(blameKey{id, nil, ownerUnknown}, 1)
	}
	shares.divide(blocked, b.add)
}

func (b *blameBuilder) add(k blameKey, blocked int64) {
	if _, ok := b.out.lengths[k]; !ok && b.err == nil {
		b.err = b.memory.Take(blameCost, "")
	}
	b.out.add(k, blocked)
}

// blameShares are times by key, in the order of the keys.
type blameShares struct {
	keys    []blameKey
	lengths map[blameKey]int64
}

func (s *blameShares) add(k blameKey, length int64) {
	if length <= 0 {
		return
	}
	if _, ok := s.lengths[k]; !ok {
		s.keys = append(s.keys, k)
	}
	s.lengths[k] += length
}

func (s *blameShares) divide(value int64, add func(blameKey, int64)) {
	var total, given int64
	for _, k := range s.keys {
		total += s.lengths[k]
	}
	for i, k := range s.keys {
		part := int64(float64(value) * (float64(s.lengths[k]) / float64(total)))
		if i == len(s.keys)-1 {
			part = value - given
		}
		given += part
		add(k, part)
	}
}

// ownerAtTick returns the owner's stack at the tick at. Threads are sampled one after the other, so the owner's sample
// can be a little earlier or later.
func (b *blameBuilder) ownerAtTick(id lockID, owner, at int64) blameKey {
	if owner <= 0 {
		return unownedKey(id, owner)
	}
	list := b.byThread[owner]
	next := sort.Search(len(list), func(i int) bool { return list[i].to >= at })
	if last := next - 1; last >= 0 {
		before := at - list[last].to
		if before < b.period/2 && (next == len(list) || before < list[next].to-at) {
			return ownedKey(id, list[last].sample)
		}
	}
	if next == len(list) || list[next].from > at+b.period {
		return blameKey{id, nil, ownerNotSampled}
	}
	return ownedKey(id, list[next].sample)
}

// ownedKey is the key of an owner's sample; of an unknown owner if that itself waits for the lock: it had released it.
func ownedKey(id lockID, owner *profile.Sample) blameKey {
	if view.IsSynchronization(owner) && lockOf(owner) == id {
		return blameKey{id, nil, ownerUnknown}
	}
	return blameKey{id, owner, ""}
}

func (b *blameBuilder) divide(id lockID, s *profile.Sample, from, end int64, shares *blameShares) {
	owner, since := view.LockOwner(s), from
	all := b.waits[id]
	first := sort.Search(len(all), func(i int) bool { return all[i].from > from })
	for _, later := range all[first:min(len(all), first+maxLaterWaits)] {
		if later.from >= end {
			break
		}
		next := view.LockOwner(later.sample)
		if next == owner {
			continue
		}
		b.attributePart(id, owner, since, later.from, shares)
		owner, since = next, later.from
	}
	b.attributePart(id, owner, since, end, shares)
}

func (b *blameBuilder) attributePart(id lockID, owner, from, end int64, shares *blameShares) {
	if owner == rec.ParentOwner { // for as long as it is awaited
		shares.add(unownedKey(id, owner), end-from)
		return
	}
	if owner <= 0 {
		passing := min(end, from+b.period) // a lock with waiters is not free for long
		shares.add(unownedKey(id, owner), passing-from)
		shares.add(blameKey{id, nil, ownerUnknown}, end-passing)
		return
	}
	notSampled := blameKey{id, nil, ownerNotSampled}
	if owner >= firstLikely {
		notSampled.name = ownerUnknown
	}
	list := b.byThread[owner]
	done, last := from, notSampled // the time up to which the part is divided, and the key of its last piece
	first := max(0, sort.Search(len(list), func(i int) bool { return list[i].from > from })-1)
	for i := first; i < len(list) && list[i].from < end && b.err == nil; i++ {
		b.countSteps(1)
		lo, hi := max(done, list[i].from), min(end, list[i].to)
		if hi <= lo {
			continue
		}
		if lo-done > 2*b.period {
			shares.add(notSampled, lo-done)
			done = lo
		}
		last = ownedKey(id, list[i].sample)
		shares.add(last, hi-done) // the time between two samples belongs to the later one
		b.addHeld(last, done, hi)
		done = hi
	}
	if end-done > 2*b.period {
		last = notSampled
	}
	shares.add(last, end-done)
}

func (b *blameBuilder) profile(p *profile.Profile) *profile.Profile {
	out := view.ShallowCopy(p)
	out.SampleType = []*profile.ValueType{{Type: view.TypeBlocked, Unit: rec.Nanoseconds}}
	out.DefaultSampleType = view.TypeBlocked
	out.Sample = nil
	out.Location, out.Function = slices.Clone(p.Location), slices.Clone(p.Function)
	unknown := map[string]*profile.Location{}
	for _, what := range []string{ownerUnknown, ownerNone, ownerParent, ownerNotSampled} {
		unknown[what] = synthetic(out, what)
	}
	times := map[lockID]held{}
	for _, k := range b.out.keys {
		w := b.waiter[k.lock]
		if _, ok := times[k.lock]; !ok && view.WaitKind(w) != waits.Join {
			times[k.lock] = b.heldTimes(k.lock, p.TimeNanos)
		}
		h := times[k.lock]
		s := &profile.Sample{
			Value: []int64{b.out.lengths[k]}, Label: map[string][]string{rec.LabelWaitsFor: {k.lock.name},
				rec.LabelComm: w.Label[rec.LabelComm]},
			NumLabel: map[string][]int64{rec.LabelPID: {k.lock.pid}}, NumUnit: map[string][]string{},
		}
		for name, value := range h.fields() {
			if *value != 0 {
				s.NumLabel[heldLabel+name] = []int64{*value}
			}
		}
		if k.owner == nil {
			s.Location = []*profile.Location{unknown[k.name]}
		} else {
			s.Location = k.owner.Location
			for _, l := range []string{rec.LabelThread, rec.LabelState, rec.LabelWait} {
				if v := k.owner.Label[l]; len(v) > 0 {
					s.Label[l] = v
				}
			}
			s.NumLabel[rec.LabelTID] = []int64{view.NumLabel(k.owner, rec.LabelTID)}
			if b.likely[k.lock] {
				s.Label[rec.LabelOwner] = []string{likelyOwner}
			}
		}
		out.Sample = append(out.Sample, s)
	}
	return out
}

func synthetic(p *profile.Profile, name string) *profile.Location {
	f := &profile.Function{ID: uint64(len(p.Function)) + 1, Name: name}
	for _, g := range p.Function {
		f.ID = max(f.ID, g.ID+1)
	}
	l := &profile.Location{ID: uint64(len(p.Location)) + 1, Line: []profile.Line{{Function: f}}}
	for _, m := range p.Location {
		l.ID = max(l.ID, m.ID+1)
	}
	p.Function, p.Location = append(p.Function, f), append(p.Location, l)
	return l
}
