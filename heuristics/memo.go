// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// Bounds of a memo, which is dropped when full. An answer with a row takes 1,300 bytes, another 64.
const (
	maxMemo     = 4096
	maxMemoRows = 256
)

// memo keeps answers while the walker drops its cache: JIT compilers change the list of modules often.
type memo struct {
	rules map[frames.Query]memoEntry
	rows  int
}

type memoEntry struct {
	rule frames.Rule
	row  *frames.Row
	ok   bool
}

func (m *memo) add(q frames.Query, a memoEntry) {
	if len(m.rules) >= maxMemo || m.rows >= maxMemoRows {
		m.drop()
	}
	if m.rules == nil {
		m.rules = map[frames.Query]memoEntry{}
	}
	if a.row != nil {
		m.rows++
	}
	m.rules[q] = a
}

func (m *memo) drop() {
	clear(m.rules)
	m.rows = 0
}

// Forget drops cached answers. Call it when code or function bounds change.
func (s *Source) Forget() { s.memo.drop() }
