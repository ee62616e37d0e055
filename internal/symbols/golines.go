// SPDX-License-Identifier: Apache-2.0

package symbols

import "prywalk/internal/runtimes/golang"

type goLines struct {
	table *golang.Table
	buf   []golang.Line
}

// GoLines makes Go's table a [LineSource]. Go's names are not mangled.
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
