// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStacksAreAddedWhileACheckpointIsWritten(t *testing.T) {
	target := start(t, "mixed", "3")
	var s *Sampler
	added := make(chan bool, 100)
	o := Options{Checkpoint: func(between func()) {
		before := s.Progress().Stacks
		for end := time.Now().Add(patience); s.Progress().Stacks < before+5 && time.Now().Before(end); {
			between()
		}
		added <- s.Progress().Stacks >= before+5
	}}
	record(t, o, patience, func(running *Sampler) {
		stopped(t, running, 1)
		s = running
		running.CheckpointNow()
		if !<-added {
			t.Error("no stack was added before the checkpoint ended")
		}
		running.CheckpointNow()
		<-added
		target.signal(t, unix.SIGKILL)
	}, target.pid)
}
