// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"
	"time"

	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestCheckpointsOfALongRecordingBecomeRarer(t *testing.T) {
	const second = time.Second
	c := &requests{
		open: &target.Requests{}, opts: &target.SamplingOptions{CheckpointEvery: 10 * time.Second},
	}
	c.begin(ptrace.Moment(100 * second))
	if c.checkpointDue(ptrace.Moment(100 * second)) {
		t.Error("at once")
	}
	if c.checkpointDue(ptrace.Moment(109*second)) || !c.checkpointDue(ptrace.Moment(111*second)) {
		t.Error("not after 10 s")
	}
	c.open.Checkpoint.Done(2*second, false)
	if c.checkpointDue(ptrace.Moment(139*second)) || !c.checkpointDue(ptrace.Moment(141*second)) {
		t.Error("one that took 2 s is not followed after 40 s")
	}
	c.open.Checkpoint.Ask()
	if c.checkpointDue(ptrace.Moment(1000 * second)) {
		t.Error("while one is still to be written")
	}
}

func TestRefreshesBecomeRarerWhereOneTakesLong(t *testing.T) {
	const ms = time.Millisecond
	c := &requests{
		open: &target.Requests{}, opts: &target.SamplingOptions{WatchEvery: time.Second},
	}
	r := &c.open.Refresh
	c.begin(ptrace.Moment(5000 * ms))
	if c.refreshDue(ptrace.Moment(5000*ms)) || c.refreshDue(ptrace.Moment(5999*ms)) ||
		!c.refreshDue(ptrace.Moment(6000*ms)) {
		t.Error("not after a second")
	}
	r.Done(10*ms, false)
	if c.refreshDue(ptrace.Moment(6999*ms)) || !c.refreshDue(ptrace.Moment(7000*ms)) {
		t.Error("not after two seconds where it takes 10 ms")
	}
	c.opts.WatchWithin = 5 * time.Second
	r.Done(1000*ms, false)
	if c.refreshDue(ptrace.Moment(9999*ms)) || !c.refreshDue(ptrace.Moment(10000*ms)) {
		t.Error("not within five seconds where it takes one")
	}
	c.opts.WatchWithin = 0
	r.Ask()
	if c.refreshDue(ptrace.Moment(9000 * ms)) {
		t.Error("while one is still open")
	}
}
