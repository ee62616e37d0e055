// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"slices"
	"sync"
	"time"

	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

// results is a process as far as described. The describing goroutine may hang and go on later.
type results struct {
	mu      sync.Mutex
	process Process
	err     error // the first; ends sampling
}

func (r *results) update(change func(p *Process)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.process)
}

func (r *results) snapshot(hung error) (*Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = hung
	}
	p := r.process
	p.Threads = slices.Clone(p.Threads)
	return &p, r.err
}

func (r *results) threads() []Thread {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.process.Threads)
}

func (r *results) add(d Thread, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process.Threads = append(r.process.Threads, d)
	if r.err == nil {
		r.err = err
	}
}

func (r *results) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

type describer struct {
	*results
	target    *code.Process
	options   Options
	walk      *stackWalker
	explainer *explainer
}

func (r *results) describe(t *code.Process, o Options, raw *rawSamples) {
	// each step may hang
	_, _ = t.Refresh() // code loaded after opening
	r.update(func(p *Process) { p.Name = t.Comm })
	names := o.Names
	if names == nil {
		names = symbols.NewNamer()
		defer names.Close()
	}
	t.JITFuncBounds = names.JITFuncBounds(t.PID)
	d := &describer{results: r, target: t, options: o, walk: newWalk(t.PID, names, r.process.memory),
		explainer: newExplainer(t, names, waits.NewLiveThreads(t.PID, o.Others))}
	defer func() { r.update(func(p *Process) { p.sleepers = d.explainer.sleepers }) }()
	d.walk.MaxDepth = o.MaxDepth
	for th, s := range raw.taken {
		d.addThread(th, s)
	}
	d.renameThreads()
	tasks := tasksOf(t)
	r.update(func(p *Process) { p.setTasks(tasks, o.MaxDepth) })
	d.addProgram()
	if o.Goroutines && !r.hasEnded() {
		d.addGoroutines()
	}
}

func (d *describer) addThread(th *observe.Thread, s *observe.RawSample) {
	t, s, err := d.complete(th, s)
	d.explainer.explain(&t, s)
	d.add(d.retryWait(th, t), err)
}

func (d *describer) complete(th *observe.Thread, first *observe.RawSample) (Thread, *observe.RawSample, error) {
	return completeStack(d.target, d.walk, d.options, th, first, func() bool { return d.options.Atomic || d.hasEnded() })
}

// completeStack describes a sample, and samples again while the stack lacks data, until over says true. s: the last
// sample, or nil.
func completeStack(target *code.Process, w *stackWalker, o Options, th *observe.Thread, first *observe.RawSample,
	over func() bool) (t Thread, s *observe.RawSample, err error) {
	s, t = first, describeThread(target, w, th.TID, first)
	copied := int64(0) // bytes
	for n := 0; n < maxSamples && s != nil && err == nil && !over(); n++ {
		more := copyExtender{stack: uint64(copyExtensionBytes) << (2 * n), memory: w.memory, taken: &copied,
			pause: o.MaxPause}
		if w.outOfMemory || !more.planNext(target, w, th, s) {
			break
		}
		if s, err = sampleThread(th, o, observe.ModeAlwaysRead); s != nil {
			w.drop(&t)
			t = describeThread(target, w, th.TID, s)
		}
	}
	w.memory.Give(copied)
	return t, s, err
}

// Retries of names that run-time systems lack, mostly during garbage collection.
const (
	maxNameRetries = 25
	nameRetryWait  = 4 * time.Millisecond
)

func (d *describer) renameThreads() {
	for n := 0; n < maxNameRetries && callstack.Postponed(d.target.Runtimes().FrameSources()); n++ {
		time.Sleep(nameRetryWait)
		for i, t := range d.threads() {
			if name, ok := givenName(d.target, t.TID); ok {
				d.update(func(p *Process) { p.Threads[i].Name = name })
			}
		}
	}
}

func (d *describer) addProgram() {
	t := d.target
	waiting, parked := t.Runtimes().WaitingGoroutines()
	program, link := programOf(t.Space(), t.Runtimes().FrameSources(), t.PID), ""
	if m := t.Main(); m != nil && code.DisplayName(m) != m.Name {
		link = m.Name
	}
	d.update(func(p *Process) { p.Goroutines, p.Parked, p.program, p.link = waiting, parked, program, link })
}

func (d *describer) addGoroutines() {
	systems := d.target.Runtimes().Schedulers()
	if len(systems) == 0 {
		return
	}
	d.walk.MaxDepth = d.options.MaxDepth
	threads := d.threads()
	r := goroutineReader{read: d.target.Read, space: d.target.Space(), walk: d.walk, now: procmem.Now(),
		locks: d.options.goroutineLocks}
	defer r.close()
	stacks, err := r.readAll(systems, threads)
	d.update(func(p *Process) {
		if p.Threads, p.GoroutineStacks = threads, stacks; err == nil { // else the line on their number has the reason
			p.Parked = ""
		}
	})
}
