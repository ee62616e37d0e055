// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/languages"
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

// The goroutine that describes the process may hang, and go on after the snapshot.
type partialProcess struct {
	mu      sync.Mutex
	process stacks.Process
	err     error // the first; ends sampling
}

func (partial *partialProcess) update(change func(p *stacks.Process)) {
	partial.mu.Lock()
	defer partial.mu.Unlock()
	change(&partial.process)
}

func (partial *partialProcess) snapshot(hung error) (*stacks.Process, error) {
	partial.mu.Lock()
	defer partial.mu.Unlock()
	partial.err = cmp.Or(partial.err, hung)
	p := partial.process
	p.Threads = slices.Clone(p.Threads)
	return &p, partial.err
}

func (partial *partialProcess) threads() (list []stacks.Thread) {
	partial.update(func(p *stacks.Process) { list = slices.Clone(p.Threads) })
	return list
}

func (partial *partialProcess) add(d stacks.Thread, err error) {
	partial.update(func(p *stacks.Process) {
		p.Threads = append(p.Threads, d)
		partial.err = cmp.Or(partial.err, err)
	})
}

func (partial *partialProcess) hasEnded() (ended bool) {
	partial.update(func(*stacks.Process) { ended = partial.err != nil })
	return ended
}

type describer struct {
	*partialProcess
	target    *loadedcode.Process
	options   Options
	walk      *walk.Walker
	explainer *sleepers.Explainer
	retries   int
}

func (partial *partialProcess) describeSamples(t *loadedcode.Process, o Options, raw *rawSamples) {
	_, _ = t.Refresh() // for code loaded after opening; each step may hang
	partial.update(func(p *stacks.Process) { p.Name = t.Comm })
	names := o.Names
	if names == nil {
		names = symbols.NewNamer()
		defer names.Close()
	}
	t.JITFuncBounds = names.JITFuncBounds(t.PID)
	d := &describer{partialProcess: partial, target: t, options: o, walk: walk.New(t.PID, names, partial.process.Budget),
		explainer: sleepers.NewLive(t, names, waits.NewLiveThreads(t.PID, o.others))}
	defer func() { partial.update(func(p *stacks.Process) { p.Sleepers = d.explainer.Sleepers }) }()
	d.walk.MaxDepth = o.MaxDepth
	for th, s := range raw.taken {
		d.addThread(th, s)
	}
	d.renameThreads()
	if !o.NoTasks {
		w := t.WatchThreads()
		tasks := callstack.Tasks(t.Runtimes().FrameSources(), w)
		w.Close()
		reads := readsOf(tasks, t.PID)
		partial.update(func(p *stacks.Process) { setTasks(p, tasks, o.MaxDepth, d.explainer.Owners, reads) })
	}
	if o.Awaits {
		w := t.WatchThreads()
		awaits := callstack.Awaits(t.Runtimes().FrameSources(), w, procmem.Now()+awaitTime)
		w.Close()
		partial.update(func(p *stacks.Process) { setAwaits(p, awaits, o.MaxDepth) })
	}
	d.addProgram()
	if o.Goroutines && !partial.hasEnded() {
		d.addGoroutines()
	}
}

func (d *describer) addThread(th *observe.Thread, s *observe.RawSample) {
	t, s, err := completeStack(d.target, d.walk, d.options, th, s, d.isLastSample)
	d.explainer.Explain(&t, s)
	d.add(d.retryWait(th, t), err)
}

// completeStack samples again while the stack lacks data, unless isLast. It returns the last sample and its thread.
func completeStack(target *loadedcode.Process, w *walk.Walker, o Options, th *observe.Thread, first *observe.RawSample,
	isLast func() bool) (t stacks.Thread, s *observe.RawSample, err error) {
	s, t = first, w.LiveThread(target, th.TID, first)
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
		s, t = further, w.LiveThread(target, th.TID, further)
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
		t = d.walk.LiveThread(d.target, th.TID, s)
		d.explainer.Explain(&t, s)
	}
	return t
}

func (d *describer) isLastSample() bool { return d.options.Atomic || d.hasEnded() }

// Retries of names that runtimes do not give during garbage collection.
const (
	maxNameRetries = 25
	nameRetryWait  = 4 * time.Millisecond
)

func (d *describer) renameThreads() {
	for n := 0; n < maxNameRetries && callstack.Postponed(d.target.Runtimes().FrameSources()); n++ {
		time.Sleep(nameRetryWait)
		for i, t := range d.threads() {
			if name, ok := walk.GivenName(d.target, t.TID); ok {
				d.update(func(p *stacks.Process) { p.Threads[i].Name = name })
			}
		}
	}
}

func (d *describer) addProgram() {
	t := d.target
	program := programOf(t.Space(), t.Runtimes().FrameSources(), t.PID)
	var unexamined []*languages.Language
	awaits, idleLoop := false, false
	d.update(func(p *stacks.Process) {
		unexamined, awaits, idleLoop = p.Unexamined(), p.Awaits != nil, p.IsIdleLoop()
	})
	clients, files := 0, waits.NewOpenFiles(t.PID)
	if len(unexamined) > 0 || awaits {
		clients = files.Clients()
	}
	var unanswered []waits.Unanswered
	if idleLoop {
		unanswered = files.Unanswered()
	}
	d.update(func(p *stacks.Process) {
		p.Clients, p.Unanswered = clients, unanswered
		p.Program = program
	})
}

func (d *describer) addGoroutines() {
	systems := d.target.Runtimes().Schedulers()
	if len(systems) == 0 {
		return
	}
	d.walk.MaxDepth = d.options.MaxDepth
	threads := d.threads()
	r := goroutines.Reader{Read: d.target.Read, Space: d.target.Space(), Walk: d.walk, Now: procmem.Now(),
		Files: waits.NewOpenFiles(d.target.PID), Locks: d.options.goroutineLocks}
	list, err := r.ReadAll(systems, threads)
	d.update(func(p *stacks.Process) {
		if p.Threads, p.GoroutineStacks = threads, list; err != nil {
			p.WaitingText = fmt.Sprintf("%v; %s", err, goroutines.Advice(p.PID))
		}
	})
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
