// SPDX-License-Identifier: Apache-2.0

// Package recording is one run of prywalk record or top, from the processes to the file. It starts or opens them,
// samples, obeys signals, and shows how it goes. What was seen is written at checkpoints and in the end.
package recording

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"prywalk/internal/account"
	"prywalk/internal/accountant"
	"prywalk/internal/code"
	"prywalk/internal/console"
	"prywalk/internal/look"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/runstats"
	"prywalk/internal/sampler"
	"prywalk/ptrace"
)

// checkpointEvery is the time between two writings of the recording while it runs.
const checkpointEvery = 10 * time.Second

// recording is one run of record, from the processes to the file.
type recording struct {
	opts  sampler.Options
	asked Options
	pids  []int

	path          string
	images        *code.ImageCache
	builder       *profile.Builder
	names         *resolver
	sampler       *sampler.Sampler
	now           atomic.Pointer[sampler.Sampler] // the same, for the goroutine of signals
	running       atomic.Pointer[ptrace.Launched] // the command, for the same
	pendingSignal atomic.Int32                    // a signal that the command is still to get; 0: none
	launches      bool                            // the processes are those of a command that this run starts
	stats         runstats.Stats
	deadlocks     []string // at the end of the sampling, a sentence each
	goroutines    []string // that wait at that time, a line for each Go process
	saveErr       error
	quiet         bool
	live          bool   // the terminal shows a table: no line of progress
	leave         func() // called before prywalk leaves at once; nil: nothing is to be done

	keepOld bool          // what is at path is to be kept as path.old; false once that is done
	disk    onDisk        // what was written
	writing atomic.Bool   // the sampling is over
	wished  atomic.Bool   // a signal has asked for the end
	giveUp  chan struct{} // closed by a signal while writing is true
	hung    bool          // a read does not come back: prywalk has to end
}

// attach records running processes.
func (r *recording) attach() error {
	if err := r.setOutput(r.pids[0]); err != nil {
		return err
	}
	ctx, stop := r.signals()
	defer stop()
	var procs []*code.Process
	var err error
	if hung := look.Watched(func() { procs, err = r.open(r.pids) }); hung != nil {
		return hung
	}
	if err != nil {
		return err
	}
	r.prepare(procs)
	defer r.close()
	var before, after childrenCPU
	if !r.opts.Children {
		before = readChildrenCPU(r.pids)
	}
	failure := r.sample(ctx)
	if r.hung {
		return r.writeHung(failure)
	}
	if !r.opts.Children {
		after = readChildrenCPU(r.pids)
	}
	if err := r.writeWatched(); err != nil {
		return errors.Join(failure, err)
	}
	if failure != nil {
		return failure
	}
	err = r.verdict()
	if line := after.since(&before); line != "" {
		console.Say("%s", line)
	}
	return err
}

// openGarbage lets more garbage lie while processes are opened, in percent of what is in use: a first stack is waited
// for, and each collection takes from that.
const openGarbage = 400

// open opens the processes; one that cannot be opened ends the recording before it
// began, so that nobody takes a part for the whole.
func (r *recording) open(pids []int) ([]*code.Process, error) {
	_, _ = procmem.RaiseFileLimit() // without it files are opened anew for each look
	percent := debug.SetGCPercent(openGarbage)
	defer debug.SetGCPercent(percent)
	r.images = code.NewImageCache(0)
	var procs []*code.Process
	for _, pid := range pids {
		p, err := r.images.Open(pid)
		if err != nil {
			for _, p := range procs {
				p.Close()
			}
			r.images.Close()
			return nil, err
		}
		procs = append(procs, p)
	}
	return procs, nil
}

// prepare sets up the parts for a run.
func (r *recording) prepare(procs []*code.Process) {
	r.builder = profile.NewBuilder(profile.Meta{
		Start: time.Now(), Period: time.Duration(float64(time.Second) / r.opts.Freq), Aggregate: r.asked.Aggregate,
		SpillTo: os.TempDir(), Discard: r.live && r.path == "",
	})
	r.names = newResolver()
	r.names.ReadInSteps()
	r.opts.Checkpoint = r.checkpoint
	r.opts.JITFuncs = r.names.JITFuncs
	if r.path == "" || profile.Replaceable(r.path) {
		r.opts.CheckpointEvery = checkpointEvery
	}
	r.sampler = sampler.New(r.opts, r.builder, r.images, procs)
	r.now.Store(r.sampler)
	if len(procs) > 0 {
		if m := procs[0].Main(); m != nil {
			r.builder.SetMain(accountant.ModuleInfo(procs[0].PID, m))
		}
	}
}

// close lets go of everything, unless somebody is still at it who does not come back.
func (r *recording) close() {
	if r.hung {
		return
	}
	_ = r.names.Close()
	_ = r.sampler.Close()
	_ = r.images.Close()
}

// sample runs the sampler for as long as is asked for. The error is one of prywalk
// itself; what was seen until then is to be written all the same.
func (r *recording) sample(ctx context.Context) error {
	if d := r.asked.Duration; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	if r.asked.Control {
		go control(r.sampler, os.Stdin, os.Stdout)
	}
	p := startProgress(r.sampler, r.live || r.running.Load() != nil)
	var err error
	r.stats, err = r.sampler.Run(ctx)
	r.hung = errors.Is(err, sampler.ErrHung)
	p.stop()
	if err == nil {
		r.findDeadlocks()
		r.countGoroutines()
	}
	if !r.stats.Begun.IsZero() {
		r.builder.SetWindow(r.stats.Begun, r.stats.Begun.Add(time.Duration((r.stats.Seconds+r.stats.Suspended)*1e9)))
	}
	return err
}

// verdict prints the closing line, and what kept running threads from being looked
// at; no samples are an error.
func (r *recording) verdict() error {
	refused := r.refusal()
	if r.stats.Samples == 0 {
		if refused != nil {
			return refused
		}
		if r.ended() {
			console.Say("%s", account.TooShort(&r.stats, r.path))
			return nil
		}
		return account.NoSamples(&r.stats, r.asked.Threads)
	}
	console.SayLeftOut()
	if refused != nil {
		console.Fail("not all threads were sampled: %v", refused)
	}
	console.SayRemarks()
	if !r.quiet {
		r.sayDeadlocks()
		for _, text := range slices.Concat(account.Notes(&r.stats), r.goroutines) {
			console.Say("%s", text)
		}
		console.Say("%s", account.Closing(&r.stats, r.path))
	}
	return nil
}

// ended reports whether there is nothing to blame for an empty recording: a command has come to its end too soon.
func (r *recording) ended() bool {
	s := &r.stats
	blame := s.Failed["traced"] + s.Failed["denied"] + s.Failed["timeout"]
	return r.running.Load() != nil && blame == 0 && r.asked.Threads == ""
}

// refusal says why looks were refused, nil if none was.
func (r *recording) refusal() error {
	failed := r.stats.Failed
	return process.ExplainLooks(r.pids, process.Refused{Denied: failed["denied"], Traced: failed["traced"],
		Frozen: r.stats.Frozen})
}
