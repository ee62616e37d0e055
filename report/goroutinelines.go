// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/chains"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// goroutineLines follow goroutines from thread to thread, by their stacks: at one time, one thread has a stack.
type goroutineLines struct {
	seen map[int][]lineInterval // by the task's ID
	last map[int]lineInterval   // by thread
}

// lineInterval is of a thread that has a goroutine's stack or, ready, has given the goroutine up: that one is ready to
// run, but has no thread that is known.
type lineInterval struct {
	index, task int
	to          int64
	function    string
	ready       bool
}

// note sets the task of an interval with this index that is made from s. The samples of a thread are in order of time.
func (g *goroutineLines) note(s *profile.Sample, iv *chains.Interval, index int, tasks chains.Tasks) {
	at := lineInterval{index: index, to: iv.To, function: iv.Link.Function}
	switch stack, last := view.Label(s, rec.LabelTaskStack), g.last[iv.ID]; {
	case iv.ID <= 0:
		return
	case stack != "" && !iv.Apart:
		at.task = tasks.ID(iv.PID, "stack "+stack)
	case iv.Apart && iv.Blocked == 0 && last.task != 0 && last.to == iv.From && view.HasGivenUpTask(s):
		at.task, at.function, at.ready = last.task, last.function, true
		iv.Apart, iv.Running, iv.Queued, iv.Link.Function = false, 0, iv.Running+iv.Queued, last.function
	}
	g.last[iv.ID] = at
	if iv.Task = at.task; iv.Task != 0 {
		g.seen[iv.Task] = append(g.seen[iv.Task], at)
	}
}

// handOver ends each goroutine's interval in one thread where that in the next one begins: a thread that was seen with
// a stack got it after another one was seen with it; one that sleeps has it all the time. What overlapped is time for
// gaps of up to two periods (ns) nearby: a thread's sleep and work between two looks have an order that is not known.
func (g *goroutineLines) handOver(all []chains.Interval, period int64) {
	for _, line := range g.seen {
		slices.SortStableFunc(line, func(x, y lineInterval) int { return cmp.Compare(x.to, y.to) })
		seen, overlapped, gaps := all[line[0].index].From, int64(0), []int{}
		for i, at := range line {
			iv := &all[at.index]
			if asleep := iv.Blocked > 0 && iv.Running+iv.Queued == 0; !asleep && iv.From < seen {
				if !at.ready {
					overlapped += seen - iv.From
				}
				iv.From = seen
			}
			for j := i - 1; j >= 0 && all[line[j].index].To > iv.From; j-- {
				before := &all[line[j].index]
				before.From, before.To = min(before.From, iv.From), iv.From
			}
			if !at.ready {
				seen = iv.To
			}
			if i == 0 {
				continue
			}
			switch gap := iv.From - all[line[i-1].index].To; {
			case gap > 2*period:
				fill(all, line, gaps, overlapped)
				overlapped, gaps = 0, nil
			case gap > 0 && iv.Blocked == 0: // else the sleep's begin is known
				gaps = append(gaps, i-1)
			}
		}
		fill(all, line, gaps, overlapped)
	}
}

// fill lets the intervals after gaps of a line begin earlier, as long as there is time.
func fill(all []chains.Interval, line []lineInterval, gaps []int, time int64) {
	for _, i := range gaps {
		before, iv := &all[line[i].index], &all[line[i+1].index]
		if time -= iv.From - before.To; time < 0 {
			return
		}
		iv.From = before.To
	}
}
