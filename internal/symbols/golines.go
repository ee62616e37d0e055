// SPDX-License-Identifier: Apache-2.0

package symbols

import "prywalk/internal/runtimes/golang"

// goLines gives Go's table the form of a [LineSource].
type goLines struct {
	table *golang.Table
	buf   []golang.Line
}

// GoLines makes Go's table of functions and lines a [LineSource]. Names stay as
// they are: they need no demangling.
func GoLines(t *golang.Table) LineSource { return &goLines{table: t} }

// Lines implements [LineSource].
func (g *goLines) Lines(pc uint64, out []Frame) []Frame {
	g.buf = g.table.Lines(pc, g.buf[:0])
	for i := range g.buf {
		l := &g.buf[i]
		out = append(out, Frame{Name: l.Func, System: l.Func, File: l.File, Line: l.Line, StartLine: l.StartLine,
			Inlined: l.Inlined})
	}
	return out
}
