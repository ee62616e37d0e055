// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"

	"prywalk/internal/code"
	"prywalk/internal/console"
	"prywalk/internal/dump"
	"prywalk/internal/look"
)

// findDeadlocks looks at the locks of the processes in which threads may wait for each other when the sampling ends.
// What is found stands in the recording's comments.
func (r *recording) findDeadlocks() {
	if r.live || r.hung {
		return
	}
	pids := r.sampler.Suspects()
	if len(pids) == 0 {
		return
	}
	var targets []*code.Process
	hung := look.Watched(func() {
		for _, pid := range pids {
			if t, err := r.images.Open(pid); err == nil { // else it has ended meanwhile
				targets = append(targets, t)
			}
		}
	})
	if hung != nil || len(targets) == 0 {
		return
	}
	l, err := dump.LookAtLocks(targets, dump.Options{MaxDepth: r.opts.MaxDepth, ReadOnly: r.opts.ReadOnly})
	if errors.Is(err, dump.ErrHung) {
		return
	}
	for _, t := range targets {
		t.Close()
	}
	r.deadlocks = l.Sentences()
}

// sayDeadlocks prints the deadlocks that were found.
func (r *recording) sayDeadlocks() {
	for _, text := range r.deadlocks {
		console.Say("%s", text)
	}
}
