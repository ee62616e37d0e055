// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"cmp"
	"path/filepath"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

// Runtime is the Java virtual machine (JVM) of a process.
type Runtime struct {
	managed.Base
	lib         *frames.Module
	host        managed.Host
	vm          *VM // nil until it is readable
	analysis    *heuristics.Source
	tries       int
	openError   error
	codeSources []*codeSource
	// refused: a walk ended because the JVM was starting.
	refused bool
}

var (
	_ managed.Threads     = (*Runtime)(nil)
	_ managed.ThreadRoles = (*Runtime)(nil)
)

const maxTries = 8

const libjvm = "libjvm.so"

// Detect is a [managed.Detector].
func Detect(h managed.Host) (managed.Runtime, error) {
	lib := findJVM(h.Modules())
	if lib == nil {
		return nil, nil
	}
	return &Runtime{lib: lib, analysis: analysisOf(h)}, nil
}

// analysisOf returns the host's analysis of instructions, or one without answers.
func analysisOf(h managed.Host) *heuristics.Source {
	return cmp.Or(h.CodeAnalysis(), heuristics.New(heuristics.Options{}))
}

func findJVM(mods []*frames.Module) *frames.Module {
	for _, m := range mods {
		if filepath.Base(m.Name) == libjvm {
			return m
		}
	}
	return nil
}

// Attach implements [managed.Runtime]. A [codeSource] decides on code of unknown origin.
func (r *Runtime) Attach(h managed.Host) bool {
	mods := h.Modules()
	if lib := findJVM(mods); lib != r.lib {
		return false
	}
	r.host = h
	r.codeSources = slices.DeleteFunc(r.codeSources, func(s *codeSource) bool {
		return !slices.Contains(mods, s.module) || !s.inUse()
	})
	for _, m := range managed.Unowned(h) {
		if !r.hasSource(m) {
			r.addSources(m)
		}
	}
	r.tryOpen()
	return true
}

// Name implements [managed.Runtime], such as "HotSpot 17.0.15".
func (r *Runtime) Name() string {
	if r.vm == nil {
		return productName
	}
	return r.vm.Version()
}

// Incomplete implements [managed.Runtime].
func (r *Runtime) Incomplete() error {
	if r.vm == nil {
		return r.openError
	}
	if err := r.vm.Incomplete(); err != nil {
		return err
	}
	return r.vm.frameSource().err
}

// Forget implements [managed.Runtime].
func (r *Runtime) Forget() {
	if r.vm != nil {
		r.vm.Forget()
		r.vm.frameSource().forget()
	}
}

// Begin implements [managed.FrameSource].
func (r *Runtime) Begin(s *managed.Sample) {
	if r.vm != nil {
		r.vm.frameSource().begin(s)
	}
}

// ManagedFrames implements [managed.FrameSource].
func (r *Runtime) ManagedFrames(f *frames.Frame, _ frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	if r.vm == nil {
		return out, false
	}
	return r.vm.frameSource().managedFrames(f, out)
}

// End implements [managed.FrameSource].
func (r *Runtime) End() managed.Health { return managed.Matched }

// Symbolize implements [managed.FrameSource].
func (r *Runtime) Symbolize(ref managed.Ref, l managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	return r.javaFrames().symbolize(ref, l, out)
}

// ThreadName implements [managed.ThreadNamer].
func (r *Runtime) ThreadName(tid int) (string, bool) { return r.javaFrames().threadName(tid) }

// Role implements [managed.ThreadRoles].
func (r *Runtime) Role(tid int, name string) (string, bool) { return r.javaFrames().role(tid, name) }

// Waiting implements [managed.Threads].
func (r *Runtime) Waiting(q *managed.WaitQuery) (managed.WaitAnswer, bool) {
	return r.javaFrames().waiting(q)
}

// Coroutines implements [managed.Threads].
func (r *Runtime) Coroutines(managed.Watch) (list managed.TaskList) {
	if v := r.virtualThreads(); v != nil {
		list = v.list()
	}
	return list
}

// TaskPlaces implements [managed.Threads]: a place is a virtual thread's number.
func (r *Runtime) TaskPlaces() []uint64 {
	v := r.virtualThreads()
	if v == nil {
		return nil
	}
	if !v.begin() {
		return v.ids
	}
	if v.lastRead != v.listed {
		v.listing = managed.Listing{}
	}
	return v.listing.Places(v.find)
}

// ChangedTasks implements [managed.Threads].
func (r *Runtime) ChangedTasks(places []uint64) []uint64 {
	v := r.virtualThreads()
	if v == nil || !v.learnt {
		return places
	}
	v.patience = batchPatience
	return v.changed(places)
}

// TasksAt implements [managed.Threads].
func (r *Runtime) TasksAt(places []uint64, _ managed.Watch, yield func(place uint64, t managed.Task, ok bool)) {
	v := r.virtualThreads()
	if v == nil || !v.learnt {
		return
	}
	v.patience = batchPatience
	for batch := range slices.Chunk(places, virtualBatch) {
		v.readBatch(batch, func(id uint64, t *managed.Task, status managed.TaskStatus) {
			yield(id, *t, status == managed.TaskKnown)
		})
	}
}

// virtualThreads may return nil.
func (r *Runtime) virtualThreads() *virtualThreads {
	j := r.javaFrames()
	if !j.threadsReady() || !j.threads.layout.waits {
		return nil
	}
	if j.virtual == nil {
		j.virtual = &virtualThreads{
			waiters: &j.waiters, threads: j.waiters.threads, java: j, listed: epoch{moves: -1}, seals: map[uint64]seal{},
		}
	}
	return j.virtual
}

// Postponed implements [managed.ThreadRoles].
func (r *Runtime) Postponed() (postponed bool) {
	if j := r.javaFrames(); j != nil {
		postponed, j.threads.postponed = j.threads.postponed, false
	}
	return postponed
}

// javaFrames may return nil, whose methods have no answers.
func (r *Runtime) javaFrames() *javaFrames {
	if r.vm == nil {
		return nil
	}
	return r.vm.frameSource()
}

// Blob names the code blob at pc.
func (r *Runtime) Blob(pc uint64) string {
	if r.vm == nil {
		return ""
	}
	return r.vm.blobName(pc)
}

// FuncRange implements [heuristics.Functions].
func (r *Runtime) FuncRange(pc uint64) (start, end uint64, ok bool) {
	if r.vm == nil {
		return 0, 0, false
	}
	return r.vm.FuncRange(pc)
}
