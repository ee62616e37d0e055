// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/text"
)

// findDeadlocks fails if a read hangs.
func (r *recording) findDeadlocks() error {
	pids := r.sampler.PossibleDeadlocks()
	if len(pids) == 0 {
		return nil
	}
	found, err := r.deadlocksOf(r.images, pids)
	r.deadlocks = found
	return err
}

// deadlocksOf returns a sentence for each deadlock. It fails if a read hangs.
func (r *recording) deadlocksOf(images *loadedcode.ImageCache, pids []int) ([]string, error) {
	var targets []*loadedcode.Process
	hung := selfhang.Watched(func() {
		targets = openAll(images, pids)
	})
	if hung != nil || len(targets) == 0 {
		return nil, hung
	}
	l, err := dump.ExamineLocks(targets, dump.Options{MaxDepth: r.samplerOpts.MaxDepth, ReadOnly: r.samplerOpts.ReadOnly,
		MaxPause: r.samplerOpts.MaxPause})
	if errors.Is(err, dump.ErrHung) {
		return nil, err
	}
	for _, t := range targets {
		t.Close()
	}
	return text.Sentences(l), nil
}
