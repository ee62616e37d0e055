// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"

	"prywalk/internal/console"
	"prywalk/internal/dump"
	"prywalk/internal/dump/text"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe/hang"
)

func (r *recording) findDeadlocks() {
	if r.endless || r.hung {
		return
	}
	pids := r.sampler.PossibleDeadlocks()
	if len(pids) == 0 {
		return
	}
	var targets []*loadedcode.Process
	hung := hang.Watched(func() {
		for _, pid := range pids {
			if t, err := r.images.Open(pid); err == nil {
				targets = append(targets, t)
			}
		}
	})
	if hung != nil || len(targets) == 0 {
		return
	}
	l, err := dump.ExamineLocks(targets, dump.Options{MaxDepth: r.samplerOpts.MaxDepth, ReadOnly: r.samplerOpts.ReadOnly})
	if errors.Is(err, dump.ErrHung) {
		return
	}
	for _, t := range targets {
		t.Close()
	}
	r.deadlocks = text.Sentences(l)
}

func (r *recording) reportDeadlocks() {
	for _, text := range r.deadlocks {
		console.Infof("%s", text)
	}
}
