package sampler

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestCheckpointsOfALongRecordingBecomeRarer: each writes all that there is.
func TestCheckpointsOfALongRecordingBecomeRarer(t *testing.T) {
	const second = int64(time.Second)
	c := &tracer{opts: &Options{CheckpointEvery: 10 * time.Second}}
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

// TestStacksAreBookedWhileACheckpointIsWritten: of a long recording that takes seconds, and copies would pile up.
func TestStacksAreBookedWhileACheckpointIsWritten(t *testing.T) {
	target := start(t, "mixed", "3")
	var s *Sampler
	booked := make(chan bool, 100)
	o := Options{Checkpoint: func(between func()) {
		before := s.pub.stacks.Load()
		for end := time.Now().Add(patience); s.pub.stacks.Load() < before+5 && time.Now().Before(end); {
			between()
		}
		booked <- s.pub.stacks.Load() >= before+5
	}}
	record(t, o, patience, func(running *Sampler) {
		frozen(t, running, 1)
		s = running
		running.CheckpointNow()
		if !<-booked {
			t.Error("nothing was booked before the checkpoint ended")
		}
		running.CheckpointNow() // the next one comes too
		<-booked
		target.signal(t, unix.SIGKILL)
	}, target.pid)
}
