// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync/atomic"
	"time"

	"prywalk/internal/agent"
	"prywalk/internal/console"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe/hang"
	"prywalk/internal/profile"
	"prywalk/internal/runsummary"
	"prywalk/internal/sample"
)

type agentRun struct {
	*recording
	agent *agent.Agent
	// refusedAtStart and refusedLater count selected processes that could not be opened, by reason: at the start, and
	// since.
	refusedAtStart map[string]int64
	refusedLater   atomic.Pointer[map[string]int64]
	frozen         map[string]bool // groups found frozen at the last reading
	throttled      map[string]bool // groups that were named once
}

// refreshesPerWindow is the number of refreshes per window; a window ends at one.
const refreshesPerWindow = 5

// RunAgent samples and sends until a signal. With an Output it also records.
func RunAgent(o Options, to agent.Options) error {
	a, err := agent.New(to)
	if err != nil {
		return err
	}
	s := &agentRun{recording: newRecording(o), agent: a, frozen: map[string]bool{}, throttled: map[string]bool{}}
	s.heldUp = s.reportHeldUp
	s.endless, s.samplerOpts.LowOverhead, s.samplerOpts.OfHost = true, true, true
	s.samplerOpts.WatchEvery = max(to.Window/refreshesPerWindow, 100*time.Millisecond)
	s.samplerOpts.Sinks = append(s.samplerOpts.Sinks, s)
	return s.run(s.sampleAndSend)
}

func (s *agentRun) sampleAndSend(ctx context.Context, procs []*loadedcode.Process) error {
	s.refusedAtStart = maps.Clone(s.refused)
	s.agent.Metrics.Sampling = s.progress
	if err := s.agent.Serve(); err != nil {
		return err
	}
	s.reportSelected(int64(len(procs)))
	names := newBackgroundResolver()
	period := time.Duration(float64(time.Second) / s.samplerOpts.Freq)
	s.agent.Start(time.Now(), period, s.builder, names, namedByAggregator, s.names)
	failure := s.sample(ctx)
	return s.end(failure, names)
}

func (s *agentRun) reportSelected(procs int64) {
	what := "samples " + runsummary.Plural(procs, "process")
	if procs == 0 {
		what = "no process is selected now, waits for one"
	}
	console.Infof("%s; sends to %s", what, s.agent.Receiver())
	if s.openError != nil {
		console.Infof("%s cannot be read: %v", runsummary.Plural(runsummary.Sum(s.refused), "selected process"), s.openError)
	}
}

// reportHeldUp says when a control group of targets is frozen and when it is not any more; of a throttled one only
// once, as groups with a quota are throttled again and again.
func (s *agentRun) reportHeldUp(all []holdUp) {
	now := map[string]bool{}
	for _, h := range all {
		known := s.throttled
		if h.frozen {
			known, now[h.key] = s.frozen, true
		}
		if !known[h.key] {
			console.Infof("%s", h.text)
			known[h.key] = true
		}
	}
	for dir := range s.frozen {
		if !now[dir] {
			console.Infof("the cgroup %s is not frozen any more, or has no process that is sampled", dir)
			delete(s.frozen, dir)
		}
	}
}

func (s *agentRun) end(failure error, names *backgroundResolver) error {
	lost := 0
	hung := hang.Watched(func() { lost = s.agent.Finish(time.Now()) })
	if hung != nil || s.hung {
		s.hung = true
		return errors.Join(failure, hung)
	}
	names.close()
	intervals, messages := s.agent.Metrics.Sent()
	console.Infof("%s sent in %s", runsummary.Plural(intervals, "interval"), runsummary.Plural(messages, "message"))
	if lost > 0 {
		console.Errorf("%d intervals are lost: the receiver did not take them within --flush; raise it, or give a directory "+
			"with --spool, from which the next agent sends them", lost)
	}
	if s.output.path != "" {
		if err := s.writeWatched(); err != nil {
			return errors.Join(failure, err)
		}
	}
	if failure == nil && s.stats.Samples == 0 {
		failure = s.refusalError()
	}
	return failure
}

// Add implements [profile.Sink].
func (s *agentRun) Add(iv profile.Interval) { s.agent.Add(iv) }

// Refresh implements [profile.Watcher].
func (s *agentRun) Refresh(at int64, open iter.Seq[profile.Interval]) {
	s.agent.Refresh(at, open)
	now := s.sampler.Refused()
	s.refusedLater.Store(&now)
}

// HeldStacks implements [profile.StackHolder].
func (s *agentRun) HeldStacks() (iter.Seq[sample.StackID], bool) { return s.agent.HeldStacks() }

// Timely implements [profile.TimelyWatcher].
func (s *agentRun) Timely() bool { return true }

// namedByAggregator: the module's names belong to the aggregator's goroutine.
func namedByAggregator(m *profile.ModuleInfo) bool {
	if m.Origin.Module == nil {
		return false
	}
	at := loadedcode.MappingOf(m.Origin.Module)
	return at != nil && at.Names != nil
}

func (s *agentRun) progress() agent.Sampling {
	g, sizes, refused := s.sampler.Progress(), s.builder.Sizes(), maps.Clone(s.refusedAtStart)
	if later := s.refusedLater.Load(); later != nil {
		for why, n := range *later {
			refused[why] += n
		}
	}
	return agent.Sampling{
		Threads: int64(g.Threads), Ticks: g.Ticks, Observations: g.Observations, Stops: g.Stops, Failed: g.Failed,
		MissedTicks: g.MissedTicks, WithheldTicks: g.WithheldTicks, Rate: g.Rate, RateAsked: s.samplerOpts.Freq,
		Stacks: int64(sizes.Stacks), Locations: int64(sizes.Locations), Refused: refused,
	}
}
