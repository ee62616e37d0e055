package heuristics

import "prywalk/frames"

// Bounds of what a Source remembers; a rule with a Row takes some 1,300 bytes, one
// without 64. When it is full it starts anew.
const (
	maxMemo     = 4096
	maxMemoRows = 256
)

// memo has what queries gave. The walker's cache of rules is dropped whenever the list of
// modules changes, which under a JIT compiler is often; the code stays the same, and its
// analysis takes a hundred times as long as a look-up of call frame information.
type memo struct {
	rules map[frames.Query]answer
	rows  int
}

// answer is what a query gave; ok is false if there was no rule.
type answer struct {
	rule frames.Rule
	row  *frames.Row
	ok   bool
}

// keep remembers an answer.
func (m *memo) keep(q frames.Query, a answer) {
	if len(m.rules) >= maxMemo || m.rows >= maxMemoRows {
		m.drop()
	}
	if m.rules == nil {
		m.rules = map[frames.Query]answer{}
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

// Forget drops what the source remembers. It has to be called when the code or what
// is known of functions' bounds has changed.
func (s *Source) Forget() { s.memo.drop() }
