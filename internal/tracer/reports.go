// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/handover"
	"prywalk/internal/procmem"
)

// reports adds the events that belong to no single observation.
type reports struct {
	*state
	backlog *backlog
	gapEnd  int64 // CLOCK_MONOTONIC ns
	// The times of the last requests, CLOCK_MONOTONIC ns.
	checkpointed, refreshed int64
}

func (r *reports) noteObservation(now int64) { r.reportGap(r.gaps.NoteObservation(now)) }

func (r *reports) gapIfEnded(now int64) { r.reportGap(r.gaps.EndGap(now)) }

func (r *reports) reportGap(from, length int64) {
	if length > 0 {
		r.gapEnd = from + length
		r.Out.Add(handover.Event{Kind: handover.NotObserved, At: from, Length: length})
	}
}

// suspension reports a suspension of the machine, after earlier observations, as their Unix time differs.
func (r *reports) suspension(now int64) {
	slept := r.gaps.NewSuspension(now, time.Now().UnixNano(), procmem.Suspended)
	if slept == 0 {
		return
	}
	r.unchanged()
	r.Out.Add(handover.Event{Kind: handover.Resumed, At: now, Length: slept})
}

func (r *reports) unchanged() {
	for th := range r.threads() {
		if th.Backoff.Unchanged.Ticks > 0 {
			r.reportUnchanged(th)
		}
	}
}

func (r *reports) reportUnchanged(th *thread) {
	r.Out.Add(handover.Event{Kind: handover.Unchanged, Thread: th.Handover, UnchangedBefore: th.Backoff.TakeUnchanged()})
}

// Least distance of checkpoints and of refreshes, in durations of the last one.
const (
	checkpointPart = 20
	refreshPart    = 200
)

// requestIfDue requests a checkpoint, at once if asked, and a refresh.
func (r *reports) requestIfDue(now int64, asked bool) {
	r.begin(now)
	if request := &r.Requests.Checkpoint; asked || r.checkpointDue(now) {
		request.Ask()
		r.request(handover.Event{Kind: handover.CheckpointAsked})
		r.checkpointed = now
	}
	if request := &r.Requests.Refresh; r.refreshDue(now) {
		request.Ask()
		r.request(handover.Event{Kind: handover.RefreshAsked, At: now})
		r.refreshed = now
	}
}

func (r *reports) begin(now int64) {
	if r.checkpointed == 0 {
		r.checkpointed = now
	}
	if r.refreshed == 0 {
		r.refreshed = now
	}
}

func (r *reports) request(e handover.Event) {
	r.unchanged()
	r.Out.Add(e)
	r.backlog.handOver() // or after a later tick, if the aggregator is far behind
}

func (r *reports) checkpointDue(now int64) bool {
	every, request := int64(r.opts.CheckpointEvery), &r.Requests.Checkpoint
	return every > 0 && !request.Open() && now-r.checkpointed > max(every, checkpointPart*request.Took())
}

func (r *reports) refreshDue(now int64) bool {
	every, request := int64(r.opts.WatchEvery), &r.Requests.Refresh
	return every > 0 && !request.Open() && now-r.refreshed >= max(every, refreshPart*request.Took())
}
