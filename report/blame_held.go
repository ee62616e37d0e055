// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// held says how long threads held a lock, as seen: while other threads waited for it, and its owner was known. Times
// are in nanoseconds.
type held struct {
	// Times is the number of holds.
	Times int64 `json:"times"`
	// Median is of their lengths.
	Median int64 `json:"median"`
	// Longest is the longest one's length.
	Longest int64 `json:"longest"`
	// Begin is the longest one's begin, since the recording's start.
	Begin int64 `json:"begin"`
	// TID is the thread of the longest one; absent for a task without a thread.
	TID int64 `json:"tid,omitempty"`
}

// heldLabel precedes the names of numbers that Blame's samples have of their lock.
const heldLabel = "held_"

func (h *held) fields() map[string]*int64 {
	return map[string]*int64{"times": &h.Times, "median": &h.Median, "longest": &h.Longest, "begin": &h.Begin,
		"tid": &h.TID}
}

// heldOf returns what a sample of Blame has of its lock, or nil if no hold was seen.
func heldOf(s *profile.Sample) *held {
	h := &held{}
	for name, value := range h.fields() {
		*value = view.NumLabel(s, heldLabel+name)
	}
	if h.Times == 0 {
		return nil
	}
	return h
}

func (h *held) text(owners ownerNames) string {
	text := fmt.Sprintf("held %s as seen by waiters: median %s, longest %s (from %s", tabular.Plural(h.Times, "time"),
		tabular.Nanos(h.Median), tabular.Nanos(h.Longest), tabular.Nanos(h.Begin))
	if h.TID != 0 {
		text += fmt.Sprintf(", %s (tid %d)", owners[h.TID], h.TID)
	}
	return text + ")"
}

// addHeld adds a time in which a thread held a lock; key is of the owner's sample.
func (b *blameBuilder) addHeld(key blameKey, from, to int64) {
	if key.owner == nil || from >= to || b.err != nil {
		return
	}
	if b.err = b.memory.Take(heldCost, ""); b.err == nil {
		b.held[key.lock] = append(b.held[key.lock], timedSample{from, to, key.owner})
	}
}

const heldCost = 24

// heldTimes joins what the waiters of a lock have seen. A hold ends where another owner is seen, or where no waiter
// sees the owner for two ticks.
func (b *blameBuilder) heldTimes(id lockID, start int64) (h held) {
	list := b.held[id]
	sortByTime(list)
	var lengths []int64
	var last timedSample
	end := func() {
		length := last.to - last.from
		if last.sample == nil || length <= 0 {
			return
		}
		lengths = append(lengths, length)
		if length > h.Longest {
			h.Longest, h.Begin, h.TID = length, last.from-start, view.NumLabel(last.sample, rec.LabelTID)
		}
	}
	for _, t := range list {
		if last.sample != nil && ownerOf(t.sample) == ownerOf(last.sample) && t.from <= last.to+2*b.period {
			last.to = max(last.to, t.to)
			continue
		}
		end()
		last = t
	}
	end()
	if h.Times = int64(len(lengths)); h.Times > 0 {
		slices.Sort(lengths)
		h.Median = lengths[len(lengths)/2]
	}
	return h
}

// ownerOf tells owners apart; tasks without a thread are one.
func ownerOf(s *profile.Sample) int64 { return cmp.Or(view.NumLabel(s, rec.LabelTID), -1) }
