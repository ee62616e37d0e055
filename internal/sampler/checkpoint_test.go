package sampler

import (
	"testing"
	"time"
)

// TestCheckpointsOfALongRecordingBecomeRarer: each writes all that there is.
func TestCheckpointsOfALongRecordingBecomeRarer(t *testing.T) {
	const second = int64(time.Second)
	c := &controller{opts: &Options{CheckpointEvery: 10 * time.Second}}
	var p published
	if c.checkpointDue(100*second, &p) {
		t.Error("at once")
	}
	if c.checkpointDue(109*second, &p) || !c.checkpointDue(111*second, &p) {
		t.Error("not after 10 s")
	}
	p.saveTook.Store(2 * second)
	if c.checkpointDue(139*second, &p) || !c.checkpointDue(141*second, &p) {
		t.Error("one that took 2 s is not followed after 40 s")
	}
	p.saving.Store(true)
	if c.checkpointDue(1000*second, &p) {
		t.Error("while one is still to be written")
	}
}
