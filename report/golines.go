// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/chains"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// goLock is a lock of Go, by its process and address.
type goLock struct {
	pid     int
	address string
}

// owner returns the ID under which chains find the likely owner of a lock at a time.
func (l goLock) owner(tasks chains.Tasks) int { return tasks.ID(l.pid, "owner of "+l.address) }

// likelyOwners has what the goroutines that likely held a lock did, on a thread or while they waited.
type likelyOwners map[goLock][]chains.Interval

// add collects a sample's locks, and its intervals for those that a goroutine awaits.
func (o likelyOwners) add(s *profile.Sample, awaited map[goLock]bool, intervals ...chains.Interval) {
	n := 0
	for lock := range strings.FieldsSeq(view.Label(s, rec.LabelHolds)) {
		if n++; n > rec.MaxHolds {
			return
		}
		k := goLock{int(view.NumLabel(s, rec.LabelPID)), lock}
		if awaited[k] || len(intervals) == 0 {
			o[k] = append(o[k], intervals...)
		}
	}
}

// maxHandover is the longest time in which two goroutines seem to own a lock while one passes it to the other, or
// one seems to run and to wait, as each is read at its own time.
const maxHandover = int64(300 * time.Millisecond)

// lines returns the intervals of each lock's owner, in which no chain starts. Locks with several owners at a time, as
// by RLock, have none in [chains.Build].
func (o likelyOwners) lines(tasks chains.Tasks) (out []chains.Interval) {
	for _, lock := range slices.SortedFunc(maps.Keys(o), func(x, y goLock) int {
		return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.address, y.address))
	}) {
		line := o[lock]
		id := lock.owner(tasks)
		slices.SortStableFunc(line, func(x, y chains.Interval) int { return cmp.Compare(x.To, y.To) })
		for i := range line {
			iv := &line[i]
			iv.ID, iv.Task, iv.Passed = id, 0, true
			if i > 0 && iv.From < line[i-1].To && iv.To > line[i-1].To && line[i-1].To-iv.From <= maxHandover {
				iv.From = line[i-1].To
			}
		}
		out = append(out, line...)
	}
	return out
}

// handOver makes the intervals of a goroutine on several threads follow each other: each begins where the one before
// ended. A sleep is kept whole; it ends what overlaps it before. The time cut off fills later gaps of up to two periods
// (in nanoseconds) each, as a look at a thread is up to a period late.
func handOver(all []chains.Interval, period int64) {
	lines := map[int][]*chains.Interval{}
	for i := range all {
		if iv := &all[i]; iv.Task != 0 {
			lines[iv.Task] = append(lines[iv.Task], iv)
		}
	}
	for _, line := range lines {
		slices.SortStableFunc(line, func(x, y *chains.Interval) int { return cmp.Compare(x.To, y.To) })
		sleep := int64(math.MaxInt64) // begin of the next one
		for _, iv := range slices.Backward(line) {
			iv.To = min(iv.To, sleep)
			iv.From = min(iv.From, iv.To)
			if iv.Blocked > 0 && iv.Running+iv.Queued == 0 {
				sleep = iv.From
			}
		}
		seen, lost := line[0].From, int64(0)
		for _, iv := range line {
			switch gap := iv.From - seen; {
			case gap > 2*period:
				lost = 0
			case gap < 0, iv.Blocked == 0 && gap <= lost: // else the sleep's begin is known
				lost -= gap
				iv.From = seen
			}
			seen = iv.To
		}
	}
}
