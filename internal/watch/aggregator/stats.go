// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/account/runstats"
	"prywalk/internal/watch/observe"
)

type totals struct {
	goroutines, coroutines taskTotals
	stacks                 int64
	walkEnds               [frames.NumStopReasons]int64
	completeByHow          [observe.FromCore + 1]int64
	samples                int64
	complete               int64 // of complete stacks
	profiledCPU            time.Duration
	incomplete             [frames.NumStopReasons]time.Duration // CPU time by the walk's end, complete ones, too
	incompleteBetween      [frames.NumStopReasons]time.Duration // under [ran between ticks]
	unobserved             time.Duration                        // under [ran between ticks] and [not observed]
	exitedUnseen           time.Duration                        // under [exited unseen]
	shortLived             time.Duration                        // under [short-lived children]
	inKernel               time.Duration                        // under [kernel]
	ofProgram              time.Duration                        // with a known program
}

func (t *totals) addSpan(s *attribute.Span) {
	t.samples += s.Samples
	if s.WalkEnd.Complete() {
		t.complete += s.Samples
	}
	t.profiledCPU += time.Duration(s.CPU)
	switch s.Leaf {
	case "", attribute.RanBetweenTicks, attribute.BlockedBetweenTicks: // it has a stack
		t.incomplete[s.WalkEnd] += time.Duration(s.CPU)
	}
	switch s.Leaf {
	case attribute.RanBetweenTicks:
		t.incompleteBetween[s.WalkEnd] += time.Duration(s.CPU)
		t.unobserved += time.Duration(s.CPU)
	case attribute.NotObserved:
		t.unobserved += time.Duration(s.CPU)
	case attribute.ExitedUnseen:
		t.exitedUnseen += time.Duration(s.CPU)
	case attribute.InKernel:
		t.inKernel += time.Duration(s.CPU)
	case attribute.ShortLivedChildren:
		t.shortLived += time.Duration(s.CPU)
		if s.Program != "" {
			t.ofProgram += time.Duration(s.CPU)
		}
	}
}

func (t *totals) addStack(end frames.StopReason, how observe.How) {
	t.stacks++
	t.walkEnds[end]++
	if end.Complete() {
		t.completeByHow[how]++
	}
}

func seconds(ns time.Duration) float64 { return float64(ns) / 1e9 }

// Stats sets the counts so far.
func (a *Aggregator) Stats(s *runstats.Stats) {
	t, times := &a.out.totals, a.attribution.Totals()
	ends := t.walkEnds
	ends[frames.StopRoot], ends[frames.StopGuessedRoot] = 0, 0
	s.Incomplete = countsByName(ends[:], func(i int) string { return frames.StopReason(i).String() })
	s.Whole = runstats.WholeByHow{ByStop: t.completeByHow[observe.ByStop],
		ByPassiveRead: t.completeByHow[observe.ByPassiveRead]}
	s.FramesByMethod = countsByName(a.stacks.methods[:], func(i int) string { return frames.Method(i).String() })
	s.WalkedAfterEnd = a.stacks.walkedAfterEnd
	s.Samples, s.Complete, s.Stacks = t.samples, t.complete, t.stacks
	s.IncompleteCPU, s.IncompleteUnobservedCPU = map[string]float64{}, map[string]float64{}
	for end, ns := range t.incomplete {
		if reason := frames.StopReason(end); ns > 0 && reason != frames.StopNone && !reason.Complete() {
			s.IncompleteCPU[reason.String()] = seconds(ns)
			s.IncompleteUnobservedCPU[reason.String()] = seconds(t.incompleteBetween[end])
		}
	}
	s.GuessedCPU = seconds(t.incomplete[frames.StopGuessedRoot] - t.incompleteBetween[frames.StopGuessedRoot])
	s.TargetCPU, s.ProfiledCPU = seconds(time.Duration(times.Target)), seconds(t.profiledCPU)
	s.ExitedUnseenCPU, s.ShortLivedCPU = seconds(t.exitedUnseen), seconds(t.shortLived)
	s.KernelCPU = seconds(t.inKernel)
	s.UnobservedCPU = seconds(t.unobserved) + s.ExitedUnseenCPU + s.ShortLivedCPU
	a.tasks.stats(s)
	s.EstimatedCPU, s.ProgramCPU = seconds(time.Duration(times.Estimated)), seconds(t.ofProgram)
}

func countsByName(counts []int64, name func(int) string) map[string]int64 {
	m := map[string]int64{}
	for i, n := range counts {
		if n != 0 {
			m[name(i)] += n
		}
	}
	return m
}
