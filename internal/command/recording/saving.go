// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/errs"
	"prywalk/internal/command/console"
	"prywalk/internal/host/filememory"
	"prywalk/internal/host/outfile"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/safeopen"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/sampler"
	"prywalk/report"
)

// checkpoint reads names of files on a goroutine of its own. Code without a file is named on the aggregator's, which
// has its perf maps, and may read from its process.
func (r *recording) checkpoint(c sampler.Checkpointing) {
	defer r.names.DropUnused()
	if r.output.path == "" || !outfile.Replaceable(r.output.path) {
		return
	}
	if r.output.rotation != nil {
		r.builder.BeginEpoch()
	}
	if r.ring != nil && !r.ring.isDue() {
		return
	}
	r.names.SetYield(c.Yield)
	defer r.names.SetYield(nil)
	r.checkpoints.Add(1)
	c.InBackground(func(here func(func())) {
		defer r.checkpoints.Done()
		r.fileNames.others = func(m *profile.ModuleInfo, addr uint64) (frames []profile.Frame) {
			here(func() { frames = r.names.Resolve(m, addr) })
			return frames
		}
		defer func() { r.fileNames.others = r.names.Resolve }()
		r.writeCheckpoint()
		r.fileNames.DropUnused()
	})
}

func (r *recording) writeCheckpoint() {
	if r.ring != nil {
		r.ring.writeKept()
		return
	}
	if r.output.rotation != nil && r.rotateIfDue() {
		return
	}
	r.setComments("checkpoint: the recording was not finished")
	if err := r.save(false); err != nil && !r.output.failureReported {
		r.output.failureReported = true
		console.Errorf("%v", err)
	}
}

func (r *recording) save(whole bool) error {
	if r.output.keepOld && outfile.Replaceable(r.output.path) {
		if err := profile.BackUpOld(r.output.path); err != nil {
			return err
		}
	}
	r.output.keepOld = false
	if err := r.builder.WriteFile(r.output.path, r.fileNames); err != nil {
		return err
	}
	r.output.state.recordWrite(whole)
	r.output.failureReported = false
	return nil
}

func (r *recording) write() error {
	r.signals.samplingOver.Store(true)
	r.checkpoints.Wait() // after a hang or a panic one may still be written
	var ring []string
	if r.ring != nil {
		ring = r.ring.beginLast()
	}
	var ofAll []string
	if r.ring == nil && r.output.rotation == nil { // the last file of these is of a part
		ofAll = slices.DeleteFunc([]string{r.children, r.unanswered}, func(line string) bool { return line == "" })
	}
	comments := slices.Concat([]string{runstats.CommentLine(&r.stats)}, ring, r.deadlocks, runstats.Losses(&r.stats),
		runstats.TargetGroups(&r.stats), ofAll)
	r.builder.Update(func(m *profile.Meta) { m.Comments, m.LastComments = comments, r.lacksNames })
	r.names.Refresh()
	return errs.Join(r.writeLast(), r.writeStats())
}

func (r *recording) setComments(lines ...string) {
	r.builder.Update(func(m *profile.Meta) { m.Comments = lines })
}

func (r *recording) writeLast() error {
	release, err := console.AwaitReader(r.output.path, r.signals.skipNames)
	if err != nil {
		return err
	}
	defer release()
	if err := r.saveWithNames(); err != nil {
		return fmt.Errorf("%w; %s", err, &r.output.state)
	}
	r.reportLost()
	if err := r.readBack(); err != nil {
		return fmt.Errorf("--html: %w; %s", err, &r.output.state)
	}
	if r.output.rotation != nil {
		r.output.rotation.prune()
	}
	return nil
}

// maxConcludedBytes bounds the recordings that are read for their conclusion.
const maxConcludedBytes = 8 << 20

// readBack reads the recording for its conclusion and its page, if it has samples.
func (r *recording) readBack() error {
	info, err := os.Stat(r.output.path)
	small := err == nil && info.Mode().IsRegular() && info.Size() <= maxConcludedBytes && r.output.rotation == nil
	if r.stats.Samples == 0 || r.output.page == "" && (!small || console.IsQuiet()) {
		return nil
	}
	p, err := profile.ReadFile(r.output.path)
	if err == nil {
		r.conclusion, err = report.Conclusion(p, report.Options{})
	}
	if r.output.page == "" {
		return nil // the recording is whole without a conclusion
	}
	if err != nil {
		return err
	}
	return profile.WriteFileAtomic(r.output.page, func(w io.Writer) error { return report.HTML(w, p, report.Options{}) })
}

func (r *recording) writeStats() error {
	if r.options.Stats == "" {
		return nil
	}
	release, err := console.AwaitReader(r.options.Stats, r.signals.skipNames)
	if err != nil {
		return err
	}
	defer release()
	r.stats.Syscalls = procmem.Calls()
	err = profile.WriteFileAtomic(r.options.Stats, func(w io.Writer) error { return runstats.WriteJSON(w, &r.stats) })
	if err != nil {
		return fmt.Errorf("--stats: %w; %s", err, &r.output.state)
	}
	return nil
}

func (r *recording) reportSpillFailure(err error) {
	r.output.spillReported.Do(func() {
		console.Errorf("%v; the recording's older samples stay in memory: for the next one free some space, or choose "+
			"another directory with TMPDIR", err)
	})
}

func (r *recording) reportLost() {
	if lost := r.builder.Lost(); lost != nil {
		console.Errorf("the recording lacks %v", lost)
	}
}

// saveWithNames skips missing names at a signal.
func (r *recording) saveWithNames() error {
	r.fileNames.begin(r.signals.skipNames)
	whole := r.builder.Sizes().Locations
	key := "Ctrl-C skips the rest"
	if r.signals.endRequested.Load() {
		key = "Ctrl-C aborts"
	}
	p := console.StartProgress(false, func() string {
		return fmt.Sprintf("looking up symbols: %d of up to %d addresses (%s)", r.fileNames.lookedUp.Load(), whole, key)
	})
	err := r.save(true)
	p.Stop()
	return err
}

// lacksNames is why functions of what was written have no names.
func (r *recording) lacksNames() []string {
	skipped := ""
	if n := r.fileNames.skipped; n > 0 {
		skipped = fmt.Sprintf("%d addresses without a name: symbol lookup was skipped; prywalk report --symbols FILE names "+
			"those of a file", n)
	}
	all := append([]string{skipped, filememory.Process().Refusals(), r.kernelNames}, safeopen.SkippedFiles()...)
	return slices.DeleteFunc(all, func(line string) bool { return line == "" })
}

// writeWatched returns if a read of a file with names hangs.
func (r *recording) writeWatched() error {
	var err error
	if hung := selfhang.Watched(func() { err = r.write() }); hung != nil {
		r.hung = true
		return fmt.Errorf("cannot write %s: %w; %s", r.output.path, hung, &r.output.state)
	}
	if err != nil || r.samplerOpts.EventLog == nil {
		return err
	}
	if hung := selfhang.Watched(r.logStacks); hung != nil {
		r.hung = true
		return fmt.Errorf("the log of events lacks functions of stacks: %w; %s", hung, &r.output.state)
	}
	return nil
}

// hungWriteTimeout bounds the write, as the hung read may hold a lock.
const hungWriteTimeout = 10 * time.Second

// writeHung writes after a hang, if there is an output, and leaves the log of events incomplete. The error is failure,
// and what became of the recording.
func (r *recording) writeHung(failure error) error {
	switch {
	case r.output.path == "":
		return failure
	case errors.Is(failure, sampler.ErrBuilderInUse):
		return fmt.Errorf("%w; %s", failure, &r.output.state)
	}
	done := make(chan error, 1)
	go func() { done <- r.write() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%w; %w", failure, err)
		}
		return fmt.Errorf("%w; the recording ended early: %s", failure, runstats.ClosingLine(&r.stats, r.output.paths()))
	case <-time.After(hungWriteTimeout):
		return fmt.Errorf("%w; %w; %s", failure, sampler.ErrBuilderInUse, &r.output.state)
	}
}
