// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"
	"time"

	"prywalk/internal/watch/target"
)

func TestCheckpointsOfALongRecordingBecomeRarer(t *testing.T) {
	const second = int64(time.Second)
	c := &requests{
		open: &target.Requests{}, opts: &target.SamplingOptions{CheckpointEvery: 10 * time.Second},
	}
	c.begin(100 * second)
	if c.checkpointDue(100 * second) {
		t.Error("at once")
	}
	if c.checkpointDue(109*second) || !c.checkpointDue(111*second) {
		t.Error("not after 10 s")
	}
	c.open.Checkpoint.Done(2*second, false)
	if c.checkpointDue(139*second) || !c.checkpointDue(141*second) {
		t.Error("one that took 2 s is not followed after 40 s")
	}
	c.open.Checkpoint.Ask()
	if c.checkpointDue(1000 * second) {
		t.Error("while one is still to be written")
	}
}

func TestRefreshesBecomeRarerWhereOneTakesLong(t *testing.T) {
	const ms = int64(time.Millisecond)
	c := &requests{
		open: &target.Requests{}, opts: &target.SamplingOptions{WatchEvery: time.Second},
	}
	r := &c.open.Refresh
	c.begin(5000 * ms)
	if c.refreshDue(5000*ms) || c.refreshDue(5999*ms) || !c.refreshDue(6000*ms) {
		t.Error("not after a second")
	}
	r.Done(10*ms, false)
	if c.refreshDue(6999*ms) || !c.refreshDue(7000*ms) {
		t.Error("not after two seconds where it takes 10 ms")
	}
	c.opts.WatchWithin = 5 * time.Second
	r.Done(1000*ms, false)
	if c.refreshDue(9999*ms) || !c.refreshDue(10000*ms) {
		t.Error("not within five seconds where it takes one")
	}
	c.opts.WatchWithin = 0
	r.Ask()
	if c.refreshDue(9000 * ms) {
		t.Error("while one is still open")
	}
}
