// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/goroutines"
	"prywalk/internal/show/dump/sleepers"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

// describer is used by a goroutine that may hang, and go on later.
type describer struct {
	process   stacks.Process
	err       error                          // the first; ends sampling
	published atomic.Pointer[describedSoFar] // for others
	target    *loadedcode.Process
	options   Options
	walk      *walk.Walker
	explainer *sleepers.Explainer
	retries   int
}

type describedSoFar struct {
	process stacks.Process
	err     error
}

// publish makes the process as it is now the one that is shown after a hang. Threads of before may not change any more.
func (d *describer) publish() { d.published.Store(&describedSoFar{d.process, d.err}) }

func (d *describer) describe(raw *rawSamples) {
	t, p, o := d.target, &d.process, &d.options
	_, _ = t.Refresh() // for code loaded after opening; each step may hang
	p.Name = t.Comm
	names := o.Names
	if names == nil {
		names = symbols.NewNamer()
		defer names.Close()
	}
	t.JITFuncBounds = names.JITFuncBounds(t.PID)
	d.walk = walk.New(t.PID, names, p.Budget)
	d.explainer = sleepers.NewLive(t, names, waits.NewLiveThreads(t.PID, o.others))
	d.walk.MaxDepth = o.MaxDepth
	for th, s := range raw.taken {
		d.addThread(th, s)
		d.publish()
	}
	d.renameThreads()
	d.publish()
	if !o.NoTasks {
		w := t.WatchThreads()
		tasks := callstack.Tasks(t.Runtimes().FrameSources(), w)
		w.Close()
		setTasks(p, tasks, o.MaxDepth, d.explainer.Owners, readsOf(tasks, t.PID))
		d.publish()
	}
	if o.Awaits {
		w := t.WatchThreads()
		awaits := callstack.Awaits(t.Runtimes().FrameSources(), w, procmem.Now()+awaitTime)
		w.Close()
		setAwaits(p, awaits, o.MaxDepth)
		d.publish()
	}
	d.addProgram()
	d.publish()
	if o.Goroutines && d.err == nil {
		p.Threads = slices.Clone(p.Threads)
		addGoroutines(p, t.Runtimes().Schedulers(), p.PID, &goroutines.Reader{Read: t.Read, Space: t.Space(),
			Walk: d.walk, Now: procmem.Now(), Files: waits.NewOpenFiles(p.PID), Locks: o.goroutineLocks})
	}
	p.Sleepers = d.explainer.Sleepers
	d.publish()
}

func (d *describer) addThread(th *observe.Thread, s *observe.RawSample) {
	t, s, err := completeStack(d.target, d.walk, d.options, th, s, d.isLastSample)
	d.explainer.Explain(&t, s)
	d.process.Threads, d.err = append(d.process.Threads, d.retryWait(th, t)), cmp.Or(d.err, err)
}

// completeStack samples again while the stack lacks data, unless isLast. It returns the last sample and its thread.
func completeStack(target *loadedcode.Process, w *walk.Walker, o Options, th *observe.Thread, first *observe.RawSample,
	isLast func() bool) (t stacks.Thread, s *observe.RawSample, err error) {
	s, t = first, w.LiveThread(target, th.ID.TID, first)
	if first.State == sample.Stopped { // by a signal: a stop for its registers and its whole stack delays nothing
		o.MaxPause = 0
	}
	more := copyExtender{memory: w.Memory, pause: o.MaxPause}
	for n := 0; n < maxFurtherSamples && !isLast(); n++ {
		more.stack = uint64(copyExtensionBytes) << (2 * n)
		if w.OutOfMemory || !more.planNext(target, w, th, s) {
			break
		}
		var further *observe.RawSample
		if further, err = sampleThread(th, o, observe.ModeAlwaysRead); further == nil || err != nil {
			break
		}
		w.Uncharge()
		s, t = further, w.LiveThread(target, th.ID.TID, further)
	}
	w.Memory.Give(more.taken)
	return t, s, err
}

// Retries of waits that a runtime may explain later. A thread's first is at once and not counted, since the thread may
// have run since its sample. Later ones await the end of a collection.
const (
	maxWaitRetries   = 200
	maxThreadRetries = 8
	waitRetryWait    = 4 * time.Millisecond
)

func (d *describer) retryWait(th *observe.Thread, t stacks.Thread) stacks.Thread {
	for n := 0; n < maxThreadRetries && d.explainer.Retryable && !d.isLastSample(); n++ {
		if n > 0 {
			if d.retries++; d.retries > maxWaitRetries {
				break
			}
			time.Sleep(waitRetryWait)
		}
		s, err := sampleThread(th, d.options, observe.ModeAlwaysRead)
		if s == nil || err != nil {
			break
		}
		d.walk.Uncharge()
		t = d.walk.LiveThread(d.target, th.ID.TID, s)
		d.explainer.Explain(&t, s)
		if d.options.waitRetried != nil {
			d.options.waitRetried(th.ID.TID, s.Sched.Runs, d.explainer.Retryable)
		}
	}
	return t
}

func (d *describer) isLastSample() bool { return d.options.Atomic || d.err != nil }

// Retries of names that runtimes do not give during garbage collection.
const (
	maxNameRetries = 25
	nameRetryWait  = 4 * time.Millisecond
)

func (d *describer) renameThreads() {
	for n := 0; n < maxNameRetries && callstack.Postponed(d.target.Runtimes().FrameSources()); n++ {
		time.Sleep(nameRetryWait)
		d.process.Threads = slices.Clone(d.process.Threads)
		for th := range stacks.Each(d.process.Threads) {
			if name, ok := walk.GivenName(d.target, th.TID); ok {
				th.Name = name
			}
		}
	}
}

func (d *describer) addProgram() {
	t, p, files := d.target, &d.process, waits.NewOpenFiles(d.target.PID)
	p.Program = programOf(t.Space(), t.Runtimes().FrameSources(), t.PID)
	if len(p.Unexamined()) > 0 || p.Awaits != nil {
		p.Clients = files.Clients()
	}
	if p.IsIdleLoop() {
		p.Unanswered = files.Unanswered()
	}
}

// addGoroutines joins goroutines with the process's threads. pid is 0 for a core.
func addGoroutines(p *stacks.Process, systems []managed.Scheduler, pid int, r *goroutines.Reader) {
	var err error
	if p.GoroutineStacks, err = r.ReadAll(systems, p.Threads); err != nil {
		p.WaitingText = fmt.Sprintf("%v; %s", err, goroutines.Advice(pid))
	}
}

func programOf(space *frames.Space, sources []managed.FrameSource, pid int) unnamedcode.Program {
	p := unnamedcode.Program{PID: pid}
	for _, m := range space.Modules() {
		mapping := loadedcode.MappingOf(m)
		if mapping == nil || mapping.Path == "" || slices.Contains(p.Mappings, mapping.Path) {
			continue
		}
		p.Mappings = append(p.Mappings, mapping.Path)
		if !strings.HasPrefix(mapping.Path, "[") {
			p.Files = append(p.Files, mapping.Path)
			if mapping.Image == nil || mapping.Image.FromMemory {
				p.Missing = append(p.Missing, mapping.Path)
			}
		}
	}
	for _, n := range sources {
		p.Mappings = append(p.Mappings, "["+n.Name()+"]")
	}
	return p
}
