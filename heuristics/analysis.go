// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"sync"

	"prywalk/frames"
)

// patterns recognises code by a few instructions in line.
type patterns struct{ interpreter }

// analysis answers a query. It is pooled for its size.
type analysis struct {
	patterns
	epilogues epilogueSearch
	prologues prologueSearch
	row       frames.Row // of the last rule
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
