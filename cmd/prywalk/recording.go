package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/outfile"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sampler"
	"prywalk/internal/stranger"
	"prywalk/internal/symbols"
	"prywalk/ptrace"
)

// checkpointEvery is the time between two writings of the recording while it runs.
const checkpointEvery = 10 * time.Second

// recording is one run of record, from the processes to the file.
type recording struct {
	opts  sampler.Options
	flags *recordFlags
	pids  []int

	path    string
	images  *code.ImageCache
	builder *profile.Builder
	names   *resolver
	sampler *sampler.Sampler
	now     atomic.Pointer[sampler.Sampler] // the same, for the goroutine of signals
	running atomic.Pointer[ptrace.Launched] // the command, for the same
	early   atomic.Int32                    // a signal that the command is still to get; 0: none
	stats   sampler.Stats
	saveErr error
	quiet   bool
	live    bool   // the terminal shows a table: no line of progress
	leave   func() // called before prywalk leaves at once; nil: nothing is to be done

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
	failure := r.sample(ctx)
	if r.hung {
		return r.writeHung(failure)
	}
	if err := r.writeWatched(); err != nil {
		return errors.Join(failure, err)
	}
	if failure != nil {
		return failure
	}
	return r.verdict()
}

// open opens the processes; one that cannot be opened ends the recording before it
// began, so that nobody takes a part for the whole.
func (r *recording) open(pids []int) ([]*code.Process, error) {
	_, _ = procmem.RaiseFileLimit() // without it files are opened anew for each look
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
		Start: time.Now(), Period: time.Duration(float64(time.Second) / r.opts.Freq), Aggregate: r.flags.aggregate,
		SpillTo: os.TempDir(), Discard: r.live && r.path == "",
	})
	r.names = newResolver()
	r.names.ReadInSteps()
	r.opts.Checkpoint = r.checkpoint
	r.opts.JITFuncs = r.names.JITFuncs
	if r.path != "" && profile.Replaceable(r.path) {
		r.opts.CheckpointEvery = checkpointEvery
	}
	r.sampler = sampler.New(r.opts, r.builder, r.images, procs)
	r.now.Store(r.sampler)
	if len(procs) > 0 {
		if m := procs[0].Main(); m != nil {
			r.builder.SetMain(r.sampler.ModuleInfo(procs[0], m))
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
	if d := time.Duration(r.flags.duration); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	if r.flags.control {
		go control(r.sampler, os.Stdin, os.Stdout)
	}
	p := startProgress(r.sampler, r.live || r.running.Load() != nil)
	var err error
	r.stats, err = r.sampler.Run(ctx)
	r.hung = errors.Is(err, sampler.ErrHung)
	p.stop()
	if !r.stats.Begun.IsZero() {
		r.builder.SetWindow(r.stats.Begun, r.stats.Begun.Add(time.Duration((r.stats.Seconds+r.stats.Suspended)*1e9)))
	}
	return err
}

// checkpoint writes what there is so far. A failure is told in the end.
func (r *recording) checkpoint(between func()) {
	if r.path == "" || !profile.Replaceable(r.path) {
		return // it takes one recording only, or there is none
	}
	r.builder.SetComments("checkpoint: the recording was not finished")
	r.builder.SetBetween(between)
	r.names.SetBetween(between)
	defer r.builder.SetBetween(nil)
	defer r.names.SetBetween(nil)
	if err := r.save(false); err != nil && r.saveErr == nil {
		r.saveErr = err
		say("%v", err)
	}
}

// save writes the recording so far. What is at its place from an earlier run is kept under another name.
func (r *recording) save(whole bool) error {
	if r.keepOld && profile.Replaceable(r.path) {
		if err := profile.KeepOld(r.path); err != nil {
			say("%v", err)
		}
	}
	r.keepOld = false
	if err := r.builder.WriteFile(r.path, r.names); err != nil {
		return err
	}
	r.disk.wrote(whole)
	return nil
}

// write writes the recording and the statistics.
func (r *recording) write() error {
	r.writing.Store(true)
	r.builder.SetComments(accounting(&r.stats))
	r.names.Refresh()
	release, err := awaitReader(r.path, r.giveUp)
	if err != nil {
		return err
	}
	err = r.saveWithNames()
	release()
	if err != nil {
		return err
	}
	if r.flags.stats != "" {
		release, err := awaitReader(r.flags.stats, r.giveUp)
		if err != nil {
			return err
		}
		defer release()
		return profile.WriteFileAtomic(r.flags.stats, func(w io.Writer) error { return writeStats(w, &r.stats) })
	}
	return nil
}

// saveWithNames writes the whole recording, and says how far it is where that takes long. A signal that ends the wait
// for names has it written without those that are missing.
func (r *recording) saveWithNames() error {
	r.names.begin(r.giveUp)
	whole := r.builder.Sizes().Locations
	key := "Ctrl-C writes without the others"
	if r.wished.Load() {
		key = "Ctrl-C leaves at once"
	}
	p := startSlow(false, func() string {
		return fmt.Sprintf("naming: %d of up to %d addresses (%s)", r.names.asked.Load(), whole, key)
	})
	err := r.save(true)
	p.stop()
	if n := r.names.without; n > 0 && err == nil {
		say("%d addresses have no name, as it was asked to write at once", n)
	}
	return err
}

// writeWatched is write, and gives up when a read of a file that has names hangs.
func (r *recording) writeWatched() error {
	var err error
	if hung := look.Watched(func() { err = r.write() }); hung != nil {
		r.hung = true
		return fmt.Errorf("cannot write %s: %w; the last checkpoint stands", r.path, hung)
	}
	return err
}

// hungWrite bounds how long the recording may take to be written when a read does not come back: what hangs may hold
// something that the writing needs.
const hungWrite = 10 * time.Second

// writeHung writes what there is when a read does not come back. It gives the failure, in one line.
func (r *recording) writeHung(failure error) error {
	if errors.Is(failure, sampler.ErrNotBooked) {
		return failure
	}
	done := make(chan error, 1)
	go func() { done <- r.write() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%w; %w", failure, err)
		}
		return fmt.Errorf("%w; the recording ended early: %s", failure, closing(&r.stats, r.path))
	case <-time.After(hungWrite):
		return fmt.Errorf("%w; %w", failure, sampler.ErrNotBooked)
	}
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
			say("%s", tooShort(&r.stats, r.path))
			return nil
		}
		return noSamples(&r.stats, r.flags.threads)
	}
	sayLeftOut()
	switch {
	case refused == nil:
	case r.stats.Frozen > 0:
		say("some looks at running threads are missing: %v", refused)
	default:
		say("running threads were not looked at: %v", refused)
	}
	if !r.quiet {
		say("%s", closing(&r.stats, r.path))
	}
	printRemarks()
	return nil
}

// ended reports whether there is nothing to blame for an empty recording: a command has come to its end too soon.
func (r *recording) ended() bool {
	s := &r.stats
	blame := s.Failed["traced"] + s.Failed["denied"] + s.Failed["timeout"]
	return r.running.Load() != nil && blame == 0 && r.flags.threads == ""
}

// printRemarks says which files were not used, and why.
func printRemarks() {
	for _, line := range stranger.Remarks() {
		say("%s", line)
	}
}

// refusal says why looks were refused, nil if none was.
func (r *recording) refusal() error {
	failed := r.stats.Failed
	return process.ExplainLooks(r.pids, process.Refused{Denied: failed["denied"], Traced: failed["traced"], Frozen: r.stats.Frozen})
}

// setOutput finds the output path and checks that it can be written, before
// anything is looked at.
func (r *recording) setOutput(pid int) error {
	r.setPath(pid)
	if r.path == "-" {
		return nil
	}
	for _, path := range []string{r.path, r.flags.stats} {
		if path == "" {
			continue
		}
		if err := outfile.Check(path); err != nil {
			return fmt.Errorf("%w; give another place with -o", err)
		}
	}
	return nil
}

// setPath finds the output path.
func (r *recording) setPath(pid int) {
	r.path = expand(r.flags.output, pid)
	if isStdout(r.path) {
		r.path = "-"
	}
	r.disk.goesTo(r.path)
}

// expand replaces %p by the pid and %t by the time.
func expand(path string, pid int) string {
	return strings.NewReplacer("%p", strconv.Itoa(pid), "%t", time.Now().Format("20060102-150405"), "%%", "%").Replace(path)
}

// resolver gives the recording its names.
type resolver struct {
	*symbols.Namer
	asked   atomic.Int64    // addresses, since begin
	giveUp  <-chan struct{} // closed when names are not to be waited for; nil: they are
	without int             // addresses that have no name for that reason
	buf     []symbols.Frame
	kernel  *symbols.KernelNames // nil: not read yet
}

func newResolver() *resolver { return &resolver{Namer: symbols.NewNamer()} }

// begin begins a write whose names are given up when that channel is closed.
func (r *resolver) begin(giveUp <-chan struct{}) {
	r.asked.Store(0)
	r.giveUp, r.without = giveUp, 0
}

// Resolve implements profile.Resolver.
func (r *resolver) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	r.asked.Add(1)
	select {
	case <-r.giveUp:
		r.without++
		return nil
	default: // as long as it is nil, too
	}
	if _, ok := m.Data.(sampler.KernelRef); ok {
		return r.ofKernel(addr)
	}
	mod, ok := m.Data.(sampler.ModuleRef)
	if !ok {
		return nil
	}
	r.buf = r.Frames(mod.Module, mod.PID, addr, r.buf[:0])
	out := make([]profile.Frame, len(r.buf))
	for i, f := range r.buf {
		out[i] = profile.Frame(f)
	}
	return out
}

// ofKernel names an address in the kernel.
func (r *resolver) ofKernel(addr uint64) []profile.Frame {
	if r.kernel == nil {
		names, err := symbols.ReadKernelNames()
		if err != nil {
			say("%v; the kernel's frames have no names", err)
			names = &symbols.KernelNames{}
		}
		r.kernel = names
	}
	if name := r.kernel.Name(addr); name != "" {
		return []profile.Frame{{Name: name}}
	}
	return nil
}
