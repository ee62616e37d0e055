// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"prywalk/frames"
	"prywalk/internal/base/languages"
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
	targets, hung := openAll(images, pids)
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

const (
	// maxIdleShare is the share of a CPU up to which processes may hang without a thread that shows it.
	maxIdleShare = 0.01
	// maxHangs bounds the processes that are dumped.
	maxHangs = 8
)

// findUnexamined names the processes that do nothing and have tasks that are not examined. It fails if a read hangs.
func (r *recording) findUnexamined() error {
	if r.stats.TargetCPU > maxIdleShare*r.stats.Seconds {
		return nil
	}
	targets, hung := openAll(r.images, r.pids[:min(len(r.pids), maxHangs)])
	if hung != nil {
		return hung
	}
	for _, t := range targets {
		if !mayHaveUnexamined(t) {
			_ = t.Close()
			continue
		}
		p, err := dump.Sample(t, dump.Options{MaxDepth: r.samplerOpts.MaxDepth, ReadOnly: r.samplerOpts.ReadOnly})
		if errors.Is(err, dump.ErrHung) {
			return err
		}
		_ = t.Close()
		if err != nil {
			continue
		}
		if unknown := text.Unexamined(p); unknown != "" {
			r.deadlocks = append(r.deadlocks, fmt.Sprintf("%s (pid %d): %s", p.Name, p.PID, unknown))
		}
		p.Close()
	}
	return nil
}

func mayHaveUnexamined(t *loadedcode.Process) bool {
	return slices.ContainsFunc(t.Space().Modules(), func(m *frames.Module) bool {
		return languages.Unthreads(path.Base(m.Name))
	})
}

// openAll leaves out what cannot be opened. It fails if a read hangs.
func openAll(images *loadedcode.ImageCache, pids []int) (procs []*loadedcode.Process, hung error) {
	hung = selfhang.Watched(func() {
		for _, pid := range pids {
			if p, err := images.Open(pid); err == nil {
				procs = append(procs, p)
			}
		}
	})
	if hung != nil {
		return nil, hung // still in use
	}
	return procs, nil
}
