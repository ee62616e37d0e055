// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"

	"prywalk/internal/dump"
	"prywalk/internal/dump/text"
	"prywalk/internal/loadedcode"
	"prywalk/internal/selfhang"
)

// findDeadlocks fails if a read hangs.
func (r *recording) findDeadlocks() error {
	pids := r.sampler.PossibleDeadlocks()
	if len(pids) == 0 {
		return nil
	}
	var targets []*loadedcode.Process
	hung := selfhang.Watched(func() {
		targets = openAll(r.images, pids)
	})
	if hung != nil || len(targets) == 0 {
		return hung
	}
	l, err := dump.ExamineLocks(targets, dump.Options{MaxDepth: r.samplerOpts.MaxDepth, ReadOnly: r.samplerOpts.ReadOnly})
	if errors.Is(err, dump.ErrHung) {
		return err
	}
	for _, t := range targets {
		t.Close()
	}
	r.deadlocks = text.Sentences(l)
	return nil
}
