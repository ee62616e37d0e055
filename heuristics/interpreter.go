// SPDX-License-Identifier: Apache-2.0

package heuristics

import "sync"

// Bounds of one search, in instructions. maxForward holds from the first branch, jump or call on: see
// epilogueSearch.follow.
const (
	maxSteps   = 16000
	maxForward = 3000
)

// interpreter runs a module's instructions on symbolic values. [interpreter.begin] begins a run.
type interpreter struct {
	src *Source
	abi *abi
	st  symbolicState // current path

	steps     int // of all paths
	limit     int // of steps
	visited   visitedSet
	pending   pathStack // other sides of branches
	postponed pathStack // left the function
	bytes     codeCache
	flow      flow // of the last instruction
}

// begin begins the first path, where every register has its start value.
func (in *interpreter) begin(pc uint64, fn span) {
	in.visited.clear()
	in.steps, in.limit = 0, maxSteps
	in.pending.clear()
	in.postponed.clear()
	in.st.reset(in.abi, pc, fn)
}

func (in *interpreter) code(pc uint64) []byte { return in.bytes.at(pc) }

// step also moves pc behind the instruction. The result is valid until the next step; flowEnd where there is no code.
func (in *interpreter) step() *flow { return in.interpret(in.code(in.st.pc)) }

func (in *interpreter) interpret(code []byte) *flow {
	st, f := &in.st, &in.flow
	in.abi.step(st, code, f)
	if st.afterCall {
		st.markDoubtful(f)
	}
	st.pc += uint64(f.size)
	return f
}

type explorer interface {
	// arrive reports whether the path goes on with the instruction at its pc.
	arrive() bool
	// follow moves the path where the last instruction leads, and reports whether it goes on. It keeps the other side
	// of a branch for later.
	follow(f *flow) bool
	// done is asked at a path's end.
	done() bool
	// needsPostponed is asked after all paths within the function.
	needsPostponed() bool
}

func (in *interpreter) runPaths(x explorer) {
	for {
		for st := &in.st; in.steps < in.limit && st.function.has(st.pc); {
			code := in.code(st.pc)
			if len(code) == 0 || !x.arrive() {
				break
			}
			in.steps++
			if !x.follow(in.interpret(code)) {
				break
			}
		}
		switch {
		case in.steps >= in.limit || x.done():
			return
		case in.pending.pop(&in.st):
		case x.needsPostponed() && in.postponed.pop(&in.st):
		default:
			return
		}
	}
}

// visit marks the instruction at the path's pc; false if it was visited before.
func (in *interpreter) visit() bool {
	_, added := in.visited.add(in.st.pc)
	return added
}

// goOn is the follow of a search within the function: it keeps the other side of a branch. False ends the path.
func (in *interpreter) goOn(f *flow) bool {
	switch f.kind {
	case flowNext, flowCall:
		return true
	case flowCond:
		if in.st.function.has(f.target) {
			in.push(f.target)
		}
		return true
	case flowJump:
		in.st.enter(f.target)
		return true
	}
	return false
}

func (in *interpreter) push(pc uint64) {
	if in.visited.find(pc) == nil {
		in.pending.push(&in.st, pc, in.st.function)
	}
}

func (in *interpreter) postpone(pc uint64, fn span) {
	if in.visited.find(pc) == nil {
		in.postponed.push(&in.st, pc, fn)
	}
}

// functionAt returns everywhere if the bounds are unknown.
func (in *interpreter) functionAt(pc uint64) span {
	if fn, ok := in.src.bounds(pc); ok {
		return fn
	}
	return everywhere
}

// patterns recognises code by a few instructions in line.
type patterns struct{ interpreter }

// analysis answers a query. It is pooled for its size.
type analysis struct {
	patterns
	epilogues epilogueSearch
	prologues prologueSearch
}

var analyses = sync.Pool{New: func() any {
	a := new(analysis)
	a.pending.paths = make([]symbolicState, maxPending)
	a.postponed.paths = make([]symbolicState, maxPostponed)
	return a
}}

// analysis takes an analysis from the pool. The caller gives it back by free. Precondition: s.abi is not nil.
func (s *Source) analysis() *analysis {
	a := analyses.Get().(*analysis)
	a.src, a.abi = s, s.abi
	a.bytes.reset(s.opt.Code)
	return a
}

func (a *analysis) free() {
	a.src, a.bytes.code = nil, nil
	analyses.Put(a)
}
