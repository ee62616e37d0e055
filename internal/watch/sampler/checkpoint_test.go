// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
)

func TestStacksAreAddedWhileACheckpointIsWritten(t *testing.T) {
	program := start(t, "mixed", "3")
	var s *Sampler
	added := make(chan bool, 100)
	o := target.SamplingOptions{Checkpoint: func(c Checkpointing) {
		c.InBackground(func(here func(func())) {
			here(func() {}) // as a name that only the process has
			before := s.Progress().Stacks
			added <- testtargets.Comes(func() bool { return s.Progress().Stacks >= before+5 })
		})
	}}
	record(t, o, patience, func(running *Sampler) {
		stopped(t, running, 1)
		s = running
		running.CheckpointNow()
		if !bounded.Receive(t, "the first checkpoint ends", added) {
			t.Error("no stack was added before the checkpoint ended")
		}
		running.CheckpointNow()
		bounded.Receive(t, "the second checkpoint ends", added)
		program.signal(t, unix.SIGKILL)
	}, program.pid)
}
