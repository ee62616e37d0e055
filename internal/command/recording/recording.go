// SPDX-License-Identifier: Apache-2.0

// Package recording implements a run of prywalk record, top or agent: it opens or launches processes, samples, handles
// signals, shows progress, and writes the recording at checkpoints and at the end.
package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/command/console"
	"prywalk/internal/host/outfile"
	"prywalk/internal/host/process"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/aggregator"
	"prywalk/internal/watch/sampler"
	"prywalk/internal/watch/target"
)

const checkpointEvery = 10 * time.Second

type recording struct {
	samplerOpts target.SamplingOptions
	options     Options
	pids        []int
	live        bool // of top or agent: no progress
	unexamined  bool // of live tables and the agent: nothing is read at the end

	images  *loadedcode.ImageCache
	builder *profile.Builder
	names   *resolver // of the aggregator's goroutine
	sampler *sampler.Sampler
	// fileNames are those of what is written.
	fileNames *backgroundResolver
	output    output
	ring      *ring // nil means that all is kept
	signals   signalHandler

	stats       runstats.Stats
	conclusion  string // of what was written; "" means unknown
	deadlocks   []string
	children    string           // a line on those that are not recorded, or ""
	kernelNames string           // why the kernel's functions have no names, or ""
	notStopped  error            // why running threads were not; nil means that they were, or none ran
	unanswered  string           // a line on connections, or ""
	refused     map[string]int64 // by reason
	unopened    int64            // selected processes that could not be opened at the start
	openError   error            // of the last one
	hung        bool             // a read of a process hangs: prywalk must exit
	checkpoints sync.WaitGroup
}

// run calls body with a context that ends with the first ending signal.
func (r *recording) run(body func(context.Context, []*loadedcode.Process) error) error {
	pid := 0 // of %p
	if len(r.pids) > 0 {
		pid = r.pids[0]
	}
	if err := r.setOutput(pid); err != nil {
		return err
	}
	if r.options.Ring > 0 {
		r.ring = newRing(r)
		r.signals.onUser1 = func() { r.ring.ask("SIGUSR1 came", "", time.Now().UnixNano()) }
	}
	ctx, stop := r.signals.handle(&r.output.state)
	defer stop()
	procs, err := r.openWatched(r.pids)
	if err != nil {
		return err
	}
	r.prepare(procs)
	defer r.close()
	return body(ctx, procs)
}

func (r *recording) sampleAndWrite(ctx context.Context, _ []*loadedcode.Process) error {
	var before childrenCPU
	childrenApart := !r.samplerOpts.Children && !r.options.ByRule
	if childrenApart {
		before = readChildrenCPU(r.pids)
	}
	failure := r.sample(ctx)
	if r.hung {
		return r.writeHung(failure)
	}
	if childrenApart {
		after := readChildrenCPU(r.pids)
		r.children = after.since(&before)
	}
	if r.ring == nil && r.output.rotation == nil {
		pids := r.pids
		if r.samplerOpts.Children {
			pids = slices.Concat(pids, process.Descendants(pids...))
		}
		var note string // of r only if nothing hangs: else it may be set while r is written
		if selfhang.Watched(func() { note = unansweredNote(pids) }) == nil {
			r.unanswered = note
		}
	}
	if err := errs.Join(failure, r.writeWatched()); err != nil {
		return err
	}
	return r.reportResult()
}

// openWatched returns [selfhang.Err] if a read hangs.
func (r *recording) openWatched(pids []int) (procs []*loadedcode.Process, err error) {
	if hung := selfhang.Watched(func() { procs, err = r.open(pids) }); hung != nil {
		r.hung = true
		return nil, hung
	}
	return procs, err
}

// openGCPercent is GOGC while processes are opened: collections would delay the first stack.
const openGCPercent = 400

// open fails if a process cannot be opened; with processes selected by a rule, if none can and one
// still runs.
func (r *recording) open(pids []int) ([]*loadedcode.Process, error) {
	if !r.samplerOpts.LowOverhead {
		percent := debug.SetGCPercent(openGCPercent)
		defer debug.SetGCPercent(percent)
	}
	r.images = loadedcode.NewImageCache(0)
	r.images.ReadContexts = r.options.Context
	var procs []*loadedcode.Process
	for _, pid := range pids {
		p, err := r.images.Open(pid)
		if err != nil && r.options.ByRule {
			why := errs.Of(err)
			if why != errs.Exited {
				r.unopened++
				r.openError = err
			}
			if why != errs.Exited && why != errs.NoFiles { // what lacks descriptors is tried again
				r.refused[why.Word()]++
				r.samplerOpts.Refused = append(r.samplerOpts.Refused, pid)
			}
			continue
		}
		if err != nil {
			for _, p := range procs {
				p.Close()
			}
			r.images.Close()
			return nil, err
		}
		procs = append(procs, p)
	}
	if r.options.ByRule && len(procs) == 0 && r.openError != nil {
		r.images.Close()
		return nil, fmt.Errorf("none of %s could be read: %w",
			runstats.Plural(r.unopened, "selected process"), r.openError)
	}
	return procs, nil
}

func (r *recording) prepare(procs []*loadedcode.Process) {
	r.builder = profile.NewBuilder(profile.Meta{
		Start: time.Now(), Period: time.Duration(float64(time.Second) / r.samplerOpts.Freq), Aggregate: r.options.Aggregate,
		SpillTo: os.TempDir(), SpillFailed: r.reportSpillFailure,
		Discard: r.live && r.output.path == "", Rotates: r.output.rotation != nil, Ring: r.options.Ring,
	})
	r.setNames()
	r.names.ReadPerfMapsInSteps()
	r.samplerOpts.Checkpoint = r.checkpoint
	r.samplerOpts.JITFuncBounds = r.names.JITFuncBounds
	if r.output.path == "" || outfile.Replaceable(r.output.path) {
		r.samplerOpts.CheckpointEvery = checkpointEvery
	}
	if r.ring != nil {
		r.ring.prepare()
	}
	r.sampler = sampler.New(r.samplerOpts, r.builder, r.images, procs)
	if r.samplerOpts.CheckpointEvery > 0 {
		r.signals.sampler.Store(r.sampler)
	}
	if len(procs) > 0 {
		if m := procs[0].Main(); m != nil {
			r.builder.Update(func(to *profile.Meta) { to.Main = aggregator.ModuleInfo(procs[0].PID, m) })
		}
	}
}

func (r *recording) setNames() {
	r.names, r.fileNames = newResolver(), newBackgroundResolver()
	r.fileNames.others = r.names.Resolve
	r.fileNames.lacksKernel = func(why string) { r.kernelNames = why }
}

func (r *recording) close() {
	if r.hung {
		return
	}
	r.fileNames.close()
	_ = r.names.Close()
	_ = r.sampler.Close()
	_ = r.images.Close()
}

// sample may fail; the samples must still be written.
func (r *recording) sample(ctx context.Context) error {
	err := r.runSampler(ctx)
	if err == nil && !r.unexamined {
		err = r.examine(r.findDeadlocks, r.findUnexamined)
	}
	r.setTimes()
	return err
}

func (r *recording) runSampler(ctx context.Context) error {
	if d := r.options.Duration; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	if r.options.Rotate > 0 {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		go r.output.rotation.run(ctx, r.signals.checkpointNow)
	}
	endRing := func() error { return nil }
	if r.ring != nil {
		ctx, endRing = r.ring.begin(ctx)
	}
	if r.options.Control {
		go serveControl(r.sampler, os.Stdin, os.Stdout)
	}
	groups := observeGroups(ctx, "/", r.sampler.PIDs)
	begun := time.Now()
	p := console.StartProgress(r.live || r.signals.command.Load() != nil, func() string {
		return progressText(r.sampler.Progress(), time.Since(begun).Seconds())
	})
	var err error
	r.stats, err = r.sampler.Run(ctx)
	r.hung = errors.Is(err, sampler.ErrHung)
	if hung := endRing(); hung != nil && !r.hung {
		r.hung, err = true, hung
	}
	groups.end(&r.stats)
	for why, n := range r.stats.Refused {
		r.refused[why] += n
	}
	if len(r.refused) > 0 {
		r.stats.Refused = r.refused
	}
	if r.notStopped = r.refusalError(); errs.Of(r.notStopped) == errs.Traced {
		r.stats.Tracer = r.notStopped.Error()
	}
	p.Stop()
	return err
}

func progressText(g sampler.Progress, seconds float64) string {
	return fmt.Sprintf("%.1f s  %.0f/s  %s  %s  %s complete  %d failed  (Ctrl-C ends)", seconds,
		float64(g.Tracer.Ticks)/seconds,
		runstats.Plural(g.Tracer.Observations+g.Tracer.Sampled, "sample"), runstats.Plural(int64(g.Tracer.Threads), "thread"),
		runstats.Percent(g.Complete, g.Stacks), g.Tracer.Failed)
}

// setTimes sets the recording's window, and the mean period if the rate was not reached.
func (r *recording) setTimes() {
	if got := r.stats.Freq; got > 0 && got < runstats.ReachedRateShare*r.samplerOpts.Freq {
		r.builder.Update(func(m *profile.Meta) { m.Period = time.Duration(float64(time.Second) / got) })
	}
	if !r.stats.Begun.IsZero() {
		begun := r.stats.Begun
		end := begun.Add(time.Duration((r.stats.Seconds + r.stats.Suspended) * 1e9))
		switch {
		case r.ring != nil:
			begun = r.ring.from(end)
		case r.output.rotation != nil && r.output.rotation.written > 0:
			begun = r.builder.PartStart()
		}
		r.builder.SetWindow(begun, end)
	}
}

// examine stops at a read that hangs: threads may be stopped until prywalk exits, and the read still uses r.images.
func (r *recording) examine(examinations ...func() error) error {
	for _, examination := range examinations {
		if err := examination(); err != nil {
			r.hung = true
			return err
		}
	}
	return nil
}

// reportResult fails without samples.
func (r *recording) reportResult() error {
	refused, children, losses := r.notStopped, r.children, runstats.Losses(&r.stats)
	if _, used := runstats.ReadUnrecordedChildren(children); used == 0 {
		children = ""
	}
	if r.stats.Samples == 0 {
		if children != "" {
			console.Infof("%s", children)
		}
		if refused != nil {
			return refused
		}
		if r.endedWithoutSamples() {
			console.Infof("%s", runstats.TooShortLine(&r.stats, r.output.path))
			return nil
		}
		return runstats.NoSamples(&r.stats, r.options.Threads)
	}
	if refused != nil {
		console.Errorf("not all threads were sampled: %v", refused)
		for i, n := range losses {
			losses[i] = strings.TrimSuffix(strings.TrimSuffix(n, refused.Error()), ": ")
		}
		losses = slices.DeleteFunc(losses, func(n string) bool { return n == "" })
	}
	if r.conclusion != "" {
		console.Infof("%s", r.conclusion)
	}
	for _, text := range runstats.FirstNotes(r.deadlocks, losses, runstats.TargetGroups(&r.stats), []string{children},
		r.lacksNames()) {
		console.Infof("%s", text)
	}
	console.Infof("%s", runstats.ClosingLine(&r.stats, r.output.paths()))
	r.output.reportParts()
	if r.options.Open {
		openPage(r.output.page)
	}
	return nil
}

func (r *recording) endedWithoutSamples() bool {
	s := &r.stats
	refusedCount := s.Failed[errs.Traced.Word()] + s.Failed[errs.Denied.Word()] +
		s.Failed[errs.Timeout.Word()]
	return r.signals.command.Load() != nil && refusedCount == 0 && r.options.Threads == ""
}

func (r *recording) refusalError() error {
	failed := r.stats.Failed
	return process.ExplainFailures(r.pids, process.StopResults{Denied: failed[errs.Denied.Word()],
		Traced: failed[errs.Traced.Word()], Succeeded: r.stats.Stops})
}

// RecordProcesses records running processes.
func RecordProcesses(o Options) error {
	r := newRecording(o)
	return r.run(r.sampleAndWrite)
}

// RecordCommand launches and records a command. The error has its exit status.
func RecordCommand(o Options, args []string) error { return newRecording(o).launchAndRecord(args) }

// CheckOutput fails if the output cannot be written.
func CheckOutput(o Options) error { return newRecording(o).setOutput(0) }

func newRecording(o Options) *recording {
	return &recording{samplerOpts: o.Sampler, options: o, pids: o.PIDs, output: output{keepOld: !o.Overwrite},
		refused: map[string]int64{}}
}
