// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"maps"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/command/agent"
	"prywalk/internal/command/console"
	"prywalk/internal/host/selfhang"
)

type agentRun struct {
	recording *recording
	agent     *agent.Agent
	// Selected processes that could not be opened at the start, by reason.
	refusedAtStart map[string]int64
}

// RunAgent samples and sends until a signal, Duration is over, or no process of those given is left. With an Output it
// also records.
func RunAgent(o Options, to agent.Options) error {
	sender, err := agent.New(to)
	if err != nil {
		return err
	}
	a := &agentRun{recording: newRecording(o), agent: sender}
	a.recording.live, a.recording.unexamined, a.recording.samplerOpts.LowOverhead,
		a.recording.samplerOpts.LimitOwnCPU = true, true, true, true
	a.recording.samplerOpts.WatchEvery, a.recording.samplerOpts.WatchWithin = agent.RefreshTimes(to.Window)
	a.recording.samplerOpts.Sinks = append(a.recording.samplerOpts.Sinks, sender)
	return a.recording.run(a.sampleAndSend)
}

func (a *agentRun) sampleAndSend(ctx context.Context, procs []*loadedcode.Process) error {
	a.refusedAtStart = maps.Clone(a.recording.refused)
	a.agent.Metrics.Sampling = a.progress
	if err := a.agent.Serve(); err != nil {
		return err
	}
	a.reportSelected(int64(len(procs)))
	background := newBackgroundResolver()
	period := time.Duration(float64(time.Second) / a.recording.samplerOpts.Freq)
	a.agent.Start(time.Now(), period, a.recording.builder, background)
	failure := a.recording.sample(ctx)
	return a.end(failure, background)
}

func (a *agentRun) reportSelected(procs int64) {
	what := "samples " + runstats.Plural(procs, "process")
	if procs == 0 {
		what = "no process is selected now, waits for one"
	}
	console.Infof("%s; sends to %s", what, a.agent.RedactedEndpoint())
	if a.recording.openError != nil {
		console.Infof("%s cannot be read: %v", runstats.Plural(a.recording.unopened, "selected process"),
			a.recording.openError)
	}
}

func (a *agentRun) end(failure error, background *backgroundResolver) error {
	lost := 0
	hung := selfhang.Watched(func() { lost = a.agent.Finish(time.Now()) })
	if hung != nil || a.recording.hung {
		a.recording.hung = true
		return errs.Join(failure, hung)
	}
	background.close()
	intervals, messages := a.agent.Metrics.Sent()
	console.Infof("%s sent in %s", runstats.Plural(intervals, "interval"), runstats.Plural(messages, "message"))
	if lost > 0 {
		console.Errorf("%d intervals are lost: the receiver did not take them within --flush; give a writable directory "+
			"with --spool, from which the next agent sends them, or raise --flush if the receiver is slow", lost)
	}
	if a.recording.output.path != "" {
		if err := a.recording.writeWatched(); err != nil {
			return errs.Join(failure, err)
		}
		for _, text := range a.recording.lacksNames() {
			console.Infof("%s", text)
		}
	}
	if failure == nil && a.recording.stats.Samples == 0 {
		failure = a.recording.refusalError()
	}
	return failure
}

func (a *agentRun) progress() agent.Sampling {
	g, refused := a.recording.sampler.Progress(), maps.Clone(a.refusedAtStart)
	for why, n := range a.recording.sampler.Refused() {
		refused[why] += n
	}
	return agent.Sampling{Progress: g.Tracer, RateAsked: a.recording.samplerOpts.Freq, Refused: refused}
}
