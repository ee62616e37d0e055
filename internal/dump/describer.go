// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"slices"
	"strings"
	"sync"
	"time"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/dump/goroutines"
	"prywalk/internal/dump/sleepers"
	"prywalk/internal/dump/walk"
	"prywalk/internal/loadedcode"
	"prywalk/internal/managed"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/symbols"
	"prywalk/internal/unnamedcode"
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
	target    *loadedcode.Process
	options   Options
	walk      *walk.Walker
	explainer *sleepers.Explainer
	retries   int // of waits, for all threads
}

func (r *results) describe(t *loadedcode.Process, o Options, raw *rawSamples) {
	// each step may hang
	_, _ = t.Refresh() // code loaded after opening
	r.update(func(p *Process) { p.Name = t.Comm })
	names := o.Names
	if names == nil {
		names = symbols.NewNamer()
		defer names.Close()
	}
	t.JITFuncBounds = names.JITFuncBounds(t.PID)
	d := &describer{results: r, target: t, options: o, walk: walk.New(t.PID, names, r.process.Memory),
		explainer: sleepers.NewLive(t, names, waits.NewLiveThreads(t.PID, o.Others))}
	defer func() { r.update(func(p *Process) { p.Sleepers = d.explainer.Sleepers }) }()
	d.walk.MaxDepth = o.MaxDepth
	for th, s := range raw.taken {
		d.addThread(th, s)
	}
	d.renameThreads()
	tasks := tasksOf(t)
	r.update(func(p *Process) { setTasks(p, tasks, o.MaxDepth) })
	d.addProgram()
	if o.Goroutines && !r.hasEnded() {
		d.addGoroutines()
	}
}

func (d *describer) addThread(th *observe.Thread, s *observe.RawSample) {
	t, s, err := d.complete(th, s)
	d.explainer.Explain(&t, s)
	d.add(d.retryWait(th, t), err)
}

func (d *describer) complete(th *observe.Thread, first *observe.RawSample) (Thread, *observe.RawSample, error) {
	return completeStack(d.target, d.walk, d.options, th, first, func() bool { return d.options.Atomic || d.hasEnded() })
}

// completeStack describes a sample, and samples again while the stack lacks data, until over says true. s: the sample
// that t describes, the last one that was taken.
func completeStack(target *loadedcode.Process, w *walk.Walker, o Options, th *observe.Thread, first *observe.RawSample,
	over func() bool) (t Thread, s *observe.RawSample, err error) {
	s, t = first, w.LiveThread(target, th.TID, first)
	copied := int64(0) // bytes
	for n := 0; n < maxSamples && s != nil && !over(); n++ {
		more := copyExtender{stack: uint64(copyExtensionBytes) << (2 * n), memory: w.Memory, taken: &copied,
			pause: o.MaxPause}
		if w.OutOfMemory || !more.planNext(target, w, th, s) {
			break
		}
		var further *observe.RawSample
		if further, err = sampleThread(th, o, observe.ModeAlwaysRead); further == nil || err != nil {
			break
		}
		w.Drop(&t)
		s, t = further, w.LiveThread(target, th.TID, further)
	}
	w.Memory.Give(copied)
	return t, s, err
}

// Retries of waits of which a run-time system may say more.
const (
	maxWaitRetries   = 200
	maxThreadRetries = 8
	waitRetryWait    = 4 * time.Millisecond
)

// retryWait samples a thread again while its wait may become known.
func (d *describer) retryWait(th *observe.Thread, t Thread) Thread {
	x := d.explainer
	for n := 0; x.Retryable && n < maxThreadRetries && d.retries < maxWaitRetries && !d.options.Atomic &&
		!d.hasEnded(); n++ {
		d.retries++
		time.Sleep(waitRetryWait)
		s, err := sampleThread(th, d.options, observe.ModeAlwaysRead)
		if s == nil || err != nil {
			break
		}
		d.walk.Drop(&t)
		t = d.walk.LiveThread(d.target, th.TID, s)
		x.Explain(&t, s)
	}
	return t
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
			if name, ok := walk.GivenName(d.target, t.TID); ok {
				d.update(func(p *Process) { p.Threads[i].Name = name })
			}
		}
	}
}

func (d *describer) addProgram() {
	t := d.target
	waiting, parked := t.Runtimes().WaitingGoroutines()
	program, link := programOf(t.Space(), t.Runtimes().FrameSources(), t.PID), ""
	if m := t.Main(); m != nil && loadedcode.DisplayName(m) != m.Name {
		link = m.Name
	}
	d.update(func(p *Process) { p.Goroutines, p.Parked, p.Program, p.Link = waiting, parked, program, link })
}

func (d *describer) addGoroutines() {
	systems := d.target.Runtimes().Schedulers()
	if len(systems) == 0 {
		return
	}
	d.walk.MaxDepth = d.options.MaxDepth
	threads := d.threads()
	r := goroutines.Reader{Read: d.target.Read, Space: d.target.Space(), Walk: d.walk, Now: procmem.Now(),
		Locks: d.options.goroutineLocks}
	list, err := r.ReadAll(systems, threads)
	d.update(func(p *Process) {
		if p.Threads, p.GoroutineStacks = threads, list; err == nil { // else the line on their number has the reason
			p.Parked = ""
		}
	})
}

// programOf gives the mappings of a process, or of a core.
func programOf(space *frames.Space, sources []managed.FrameSource, pid int) unnamedcode.Program {
	p := unnamedcode.Program{PID: pid}
	for _, m := range space.Modules() {
		at := loadedcode.MappingOf(m)
		if at == nil || at.Path == "" || slices.Contains(p.Mappings, at.Path) {
			continue
		}
		p.Mappings = append(p.Mappings, at.Path)
		if !strings.HasPrefix(at.Path, "[") {
			p.Files = append(p.Files, at.Path)
		}
	}
	for _, n := range sources {
		p.Mappings = append(p.Mappings, "["+n.Name()+"]")
	}
	return p
}
