// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Runtime is the Python interpreter of a process. It implements [managed.Threads].
type Runtime struct {
	managed.Base
	python  *interpreter
	view    managed.View
	threads *threads
	codes   codes
	merge   *merge
	gil     gil
	names   *threadNames
	locks   *locks
	joins   joins
	plan    *managed.Plan

	followed *taskReader
	listed   managed.Listing
}

var (
	_ managed.Threads     = (*Runtime)(nil)
	_ managed.ThreadNamer = (*Runtime)(nil)
	_ managed.LockHolder  = (*Runtime)(nil)
)

func newParts(i *interpreter) *Runtime {
	r := &Runtime{python: i, threads: &threads{python: i}}
	r.codes = codes{python: i, view: &r.view}
	r.merge = &merge{chain: &frameChain{python: i, view: &r.view, threads: r.threads, codes: &r.codes}}
	r.names = &threadNames{python: i, threads: r.threads}
	r.gil = gil{python: i, threads: r.threads, names: r.names}
	r.locks = &locks{python: i, chain: r.merge.chain, names: r.names}
	r.joins = joins{python: i, names: r.names}
	return r
}

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "CPython " + r.python.version }

// Module implements [managed.Runtime].
func (r *Runtime) Module() *frames.Module { return r.python.module }

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	r.python.host = h
	endGreenlets(h)
	m := managed.ModuleAgain(h, r.python.module)
	if m == nil {
		return false
	}
	r.python.module = m
	return true
}

// Forget implements [managed.Runtime].
func (r *Runtime) Forget() {
	r.codes.kept.Forget()
	r.threads.forget()
	r.names.forget()
	r.locks.forget()
	r.joins.forget()
}

// Plan implements [managed.FrameSource].
func (r *Runtime) Plan() *managed.Plan { return r.plan }

// Anchor implements [managed.FrameSource]: the thread state.
func (r *Runtime) Anchor(tid int, threadPointer uint64) (uint64, bool) {
	return r.threads.anchor(tid, threadPointer)
}

// Begin implements [managed.FrameSource].
func (r *Runtime) Begin(s *managed.Sample) {
	r.codes.view.Begin(s)
	r.codes.kept.Begin(s.At)
	r.merge.begin()
}

// Symbolize implements [managed.FrameSource].
func (r *Runtime) Symbolize(ref managed.Ref, _ managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	c := r.codes.kept.Of(ref.Cookie)
	if ref.Kind != kindCode || c == nil {
		return append(out, managed.Frame{}), managed.Freed
	}
	return append(out, c.frame(r.python.minor, int(int32(ref.Position)))), managed.Checked
}

// Waiting implements [managed.Threads], for locks, the interpreter lock and joins.
func (r *Runtime) Waiting(q *managed.WaitQuery) (managed.WaitAnswer, bool) {
	if w, ok := r.locks.waiting(q); ok {
		return w, true
	}
	if r.gil.retryFind() {
		r.makePlan()
	}
	if w, ok := r.gil.waiting(q); ok {
		return w, true
	}
	if w, ok := r.joins.waiting(q); ok {
		return w, true
	}
	if !r.locks.addAwaited(q) {
		return managed.WaitAnswer{}, false
	}
	return r.locks.waiting(q)
}

// ThreadName implements [managed.ThreadNamer].
func (r *Runtime) ThreadName(tid int) (string, bool) { return r.names.nameOf(tid) }

// HeldLocks implements [managed.LockHolder].
func (r *Runtime) HeldLocks() []managed.HeldLock { return r.locks.held() }
