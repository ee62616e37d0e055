// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

type page struct {
	ids         []rowID
	rows        int
	visibleRows int
	own         bool // the functions are only the program's own
}

// reservedLines are the lines of columns' names, status and keys.
const reservedLines = 3

// text returns the whole screen.
func (m *Model) text() string {
	s := m.screen
	lines := m.tableLines()
	if s.Height > 0 && len(lines) > s.Height {
		lines = lines[:s.Height]
	}
	return strings.Join(lines, "\n")
}

func (m *Model) tableLines() []string {
	s, snap := m.screen, m.snapshot
	rows, draw := m.rows()
	m.page.rows, m.page.visibleRows = rows, rows
	lines := snap.headLines(s, &m.state)
	lines[0] = s.paint(bold, lines[0])
	if s.Height > 0 {
		m.page.visibleRows = max(1, s.Height-reservedLines-len(lines))
	}
	m.placeCursor()
	head, shown := draw(m.position.top, min(rows, m.position.top+m.page.visibleRows))
	lines = append(lines, s.paint(dim, head))
	for i, r := range shown {
		if m.position.top+i == m.position.cursor {
			r = s.selected(r)
		}
		lines = append(lines, r)
	}
	if rows == 0 {
		lines = append(lines, s.cut("  "+m.emptyTableText()))
		shown = append(shown, "")
	}
	for i := len(shown); s.Height > 0 && i < m.page.visibleRows; i++ {
		lines = append(lines, "")
	}
	return append(lines, m.status(rows), s.paint(dim, s.joined("  ", keyHelp...)))
}

// placeCursor follows the cursor's row, or keeps the cursor within the rows.
func (m *Model) placeCursor() {
	if row := slices.IndexFunc(m.page.ids, m.follow.is); row >= 0 {
		m.position.cursor = row
	}
	m.position.cursor = max(0, min(m.position.cursor, m.page.rows-1))
	m.position.top = max(0, min(m.position.top, m.position.cursor, m.page.rows-m.page.visibleRows))
	m.position.top = max(m.position.top, m.position.cursor-m.page.visibleRows+1)
}

// selected replaces the first cell, a space, without colours.
func (s Screen) selected(row string) string {
	if s.Width > 0 {
		row = tabular.Pad(row, s.Width)
	}
	if s.Color {
		return s.paint(reverse, row)
	}
	_, first := utf8.DecodeRuneInString(row)
	return ">" + row[first:]
}

func (m *Model) emptyTableText() string {
	switch {
	case m.filter != nil:
		return "no match; esc clears the filter"
	case m.state.Trouble != "":
		return printable.Line(m.state.Trouble)
	case m.state.Ended:
		return "the sampling has ended"
	case m.snapshot.Since == 0:
		return "waiting for the first refresh …"
	}
	if v := m.snapshot.total(); m.view != waitsView && m.clock == CPU && v.CPU == 0 && v.Blocked > 0 {
		return "no cpu time in this window: the threads wait; 3 shows for what"
	}
	return "no " + string(m.clock) + " time in this window; c shows another clock"
}

// shownClock is wall time in place of CPU time for waits, and for an opened row without CPU time.
func (m *Model) shownClock() Clock {
	if m.clock == CPU && m.position.opened != none && m.view != waitsView {
		if c, _ := m.snapshot.data.Clocks(m.snapshot.samplesOf(m.position.opened, m.view, CPU)); c.CPU > 0 {
			return CPU
		}
		return Wall
	}
	if m.clock == CPU && m.view == waitsView {
		return Wall
	}
	return m.clock
}

func (m *Model) rows() (n int, draw func(from, to int) (head string, lines []string)) {
	snap, s, clock := m.snapshot, m.screen, m.shownClock()
	d := snap.by(clock)
	m.page.ids, m.page.own = m.page.ids[:0], false
	if m.position.opened != none {
		marked := none.frame
		if m.view == functionsView {
			marked = m.position.opened.frame
		}
		lines := s.stackLines(d, stacksOf(d, snap.samplesOf(m.position.opened, m.view, clock)), marked)
		return len(lines), func(from, to int) (string, []string) {
			return s.cut("stacks " + m.openedName() + ", innermost first"), lines[from:to]
		}
	}
	if m.view == functionsView {
		rows, own := snap.functionTable(clock, m.all || m.filter != nil)
		m.page.own = own != nil
		rows = matching(rows, m.filter, func(r *view.Row) string {
			return d.Table.Frames[r.Frame].DisplayName() + " " + d.Table.Frames[r.Frame].Module
		})
		for i := range rows {
			m.page.ids = append(m.page.ids, rowID{frame: rows[i].Frame})
		}
		return len(rows), func(from, to int) (string, []string) { return s.functionLines(d, rows[from:to], rows, own) }
	}
	what := groupings[m.view]
	list := matching(snap.groups(clock, what), m.filter, func(r *groupRow) string { return r.name() + " " + r.in })
	for i := range list {
		m.page.ids = append(m.page.ids, idOf(list[i].group, m.view))
	}
	return len(list), func(from, to int) (string, []string) { return s.groupLines(d, list[from:to], what) }
}

func (m *Model) openedName() string {
	switch m.view {
	case threadsView:
		return "of " + printable.String(m.position.opened.group)
	case waitsView:
		return "in " + printable.String(m.position.opened.group)
	}
	return "with " + printable.String(m.snapshot.data.Table.Frames[m.position.opened.frame].Name)
}

func (m *Model) status(rows int) string {
	s := m.screen
	if m.typing {
		text := "/" + printable.String(m.input) + "▏"
		if m.badExpr {
			text += "  not a regular expression"
		}
		return s.paint(bold, s.cut(text))
	}
	var parts []string
	if m.paused {
		parts = append(parts, "PAUSED (sampling goes on)")
	}
	if m.state.Ended {
		parts = append(parts, "ENDED: q leaves")
	}
	if m.state.Trouble != "" {
		parts = append(parts, printable.Line(m.state.Trouble))
	}
	what := viewNames[m.view]
	if m.position.opened != none {
		what = "stacks"
	}
	if m.page.own {
		what = "own functions, a shows all"
	}
	parts = append(parts, what)
	if m.filter != nil {
		parts = append(parts, "filter /"+printable.String(m.filter.String())+"/")
	}
	if rows > 0 && m.position.opened == none {
		parts = append(parts, fmt.Sprintf("%d of %d", m.position.cursor+1, rows))
	}
	if cure := m.snapshot.by(CPU).WhyIncomplete(); cure != "" {
		parts = append(parts, printable.Line(cure))
	}
	line := s.joined(" · ", parts...)
	if m.paused || m.state.Ended {
		return s.paint(bold, line)
	}
	return line
}
