// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/account/attribute"
	"prywalk/internal/watch/target"
)

type requests struct {
	open    *target.Requests
	out     *target.Outbox
	opts    *Options
	tracked *tracked
	backlog *backlog
	// CLOCK_MONOTONIC ns
	checkpointed, refreshed int64
}

// Least distance of checkpoints and of refreshes, in durations of the last one.
const (
	checkpointPart = 20
	refreshPart    = 200
)

func (r *requests) addDue(now int64, asked bool) {
	if request := &r.open.Checkpoint; asked || r.checkpointDue(now) {
		request.Ask()
		r.add(&target.CheckpointAsked{})
		r.checkpointed = now
	}
	if request := &r.open.Refresh; r.refreshDue(now) {
		request.Ask()
		r.add(&target.RefreshAsked{Tick: attribute.Tick{At: now}})
		r.refreshed = now
	}
}

func (r *requests) begin(now int64) { r.checkpointed, r.refreshed = now, now }

func (r *requests) add(what attribute.Event) {
	r.tracked.reportAllUnchanged()
	r.out.Add(target.Event{What: what})
	r.backlog.handOver() // or after a later tick, if the aggregator is far behind
}

func (r *requests) checkpointDue(now int64) bool {
	every, request := int64(r.opts.CheckpointEvery), &r.open.Checkpoint
	return every > 0 && !request.Open() && now-r.checkpointed > max(every, checkpointPart*request.Took())
}

func (r *requests) refreshDue(now int64) bool {
	every, request := int64(r.opts.WatchEvery), &r.open.Refresh
	return every > 0 && !request.Open() && now-r.refreshed >= max(every, refreshPart*request.Took())
}
