// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

const (
	bold       = "\x1b[1m"
	dim        = "\x1b[2m"
	reverse    = "\x1b[7m"
	resetStyle = "\x1b[0m"
)

// Screen is a table's format.
type Screen struct {
	// Width and Height are in columns and lines; 0 means that there is no limit.
	Width, Height int
	Color         bool
}

func (s Screen) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return code + text + resetStyle
}

func (s Screen) cut(line string) string {
	if s.Width <= 0 {
		return line
	}
	return tabular.Cut(line, s.Width)
}

func (s Screen) joined(sep string, parts ...string) string {
	line := ""
	for i, p := range parts {
		next := line + sep + p
		if i == 0 {
			next = p
		}
		if s.Width > 0 && i > 0 && !tabular.Fits(next, s.Width) {
			break
		}
		line = next
	}
	return s.cut(line)
}

// Least widths of columns, so that changing values do not move them.
const (
	shareWidth = 6
	valueWidth = 7
	// valuesFrom is the least screen width with times beside shares.
	valuesFrom = 56
)

// functionLines formats some of the rows; all have one width of columns, so that scrolling moves none.
func (s Screen) functionLines(d *view.Data, some, all []view.Row, own *view.Application) (head string, lines []string) {
	value := valueWidth
	if s.Width > 0 && s.Width < valuesFrom {
		value = 0
	}
	heads, values := d.ValueColumns(some, shareWidth, value)
	const longest = len("function (blocked)")
	head, names := d.NameColumns(s.Width, 1+tabular.PrintedWidth(heads), longest, d.FramesOf(some), d.FramesOf(all))
	for i, r := range some {
		lines = append(lines, s.cut(" "+values[i][0]+values[i][1]+names[i]+calls(d, own, r.Frame)))
	}
	return s.cut(" " + heads + head), lines
}

// fitName keeps the mark whole if there is room.
func fitName(name, mark string, columns int) string {
	left := columns - tabular.PrintedWidth(mark)
	if left < min(tabular.PrintedWidth(name), minColumnsBeforeMark) {
		return tabular.Cut(name+mark, columns)
	}
	return tabular.Cut(name, left) + mark
}

const minColumnsBeforeMark = 16

const (
	groupShare = iota
	groupCPU
	groupRunQueue
	groupBlocked
	groupCount
	groupColumns
)

// allColumnsFrom is the least screen width with all columns of groups.
const allColumnsFrom = 72

func (s Screen) groupLines(d *view.Data, rows []groupRow, what string) (head string, lines []string) {
	cells := groupCells(d, rows)
	columns := s.groupColumns(what)
	figures := func(i int) string {
		var b strings.Builder
		for _, k := range columns {
			b.WriteString(cells[k][i] + " ")
		}
		return b.String() + " "
	}
	head = " " + figures(0)
	left := 1 << 12
	if s.Width > 0 {
		left = max(tabular.MinNameColumn, s.Width-tabular.PrintedWidth(head))
	}
	name, in := len(what), len("in")
	for i := range rows {
		name = max(name, tabular.PrintedWidth(rows[i].name()+rows[i].mark()))
		in = max(in, tabular.PrintedWidth(rows[i].in))
	}
	name = min(name, max(left/2, left-in-len("  "), tabular.MinNameColumn))
	for i := range rows {
		fitted := fitName(rows[i].name(), rows[i].mark(), name)
		text := tabular.Pad(fitted, name) + "  " +
			tabular.Shorten(printable.String(rows[i].in), max(tabular.MinNameWidth, left-name-2))
		lines = append(lines, s.cut(" "+figures(i+1)+strings.TrimRight(text, " ")))
	}
	return s.cut(head + tabular.Pad(what, name) + "  in"), lines
}

// groupCells pads each column to one width, with headings.
func groupCells(d *view.Data, rows []groupRow) (cells [groupColumns][]string) {
	heads := [groupColumns]string{d.Clock() + "%", "cpu", "runqueue", "blocked", "threads"}
	if slices.ContainsFunc(rows, func(r groupRow) bool { return r.tasks }) {
		heads[groupCount] = "count"
	}
	for i := range rows {
		v := &rows[i]
		cells[groupShare] = append(cells[groupShare], d.Precision.Share(v.group.Value))
		cells[groupCPU] = append(cells[groupCPU], tabular.Nanos(v.clocks.CPU))
		cells[groupRunQueue] = append(cells[groupRunQueue], tabular.Nanos(v.clocks.RunQueue))
		cells[groupBlocked] = append(cells[groupBlocked], tabular.Nanos(v.clocks.Blocked))
		cells[groupCount] = append(cells[groupCount], tabular.Thousands(v.count))
	}
	cells[groupShare] = tabular.Aligned(cells[groupShare])
	for i, h := range heads {
		cells[i] = tabular.AlignRight(append([]string{h}, cells[i]...), valueWidth)
	}
	return cells
}

// groupColumns leaves out the count of a table of threads.
func (s Screen) groupColumns(what string) []int {
	switch {
	case s.Width > 0 && s.Width < valuesFrom:
		return []int{groupShare, groupCPU}
	case s.Width > 0 && s.Width < allColumnsFrom:
		return []int{groupShare, groupCPU, groupBlocked}
	case what == "thread":
		return []int{groupShare, groupCPU, groupRunQueue, groupBlocked}
	}
	return []int{groupShare, groupCPU, groupRunQueue, groupBlocked, groupCount}
}

func (s Screen) stackLines(d *view.Data, rows []*view.Group, function int32) (lines []string) {
	for i := range rows {
		r := rows[i]
		if i > 0 {
			lines = append(lines, "")
		}
		c, _ := d.Clocks(r.Samples)
		head := " " + d.Precision.Share(r.Value) + " " + d.Precision.Value(r.Value, d.Unit) + " " + d.Clock()
		waiters := d.Waiters(r.Samples)
		if waiters == "0 threads" { // those that are merged have no numbers
			waiters = "1 thread"
		}
		lines = append(lines, s.cut(strings.TrimRight(strings.Join([]string{head, waiters,
			"cpu " + tabular.Nanos(c.CPU), "runqueue " + tabular.Nanos(c.RunQueue), "blocked " + tabular.Nanos(c.Blocked)},
			" · "), " ")))
		var frames []*view.Frame
		stack := d.Table.Stack(r.Samples[0])
		for _, f := range stack {
			frames = append(frames, &d.Table.Frames[f])
		}
		_, names := d.NameColumns(s.Width, len("    "), 0, frames, frames)
		for i, name := range names {
			mark := "    "
			if stack[i] == function {
				mark = "  ▸ "
			}
			lines = append(lines, s.cut(mark+name))
		}
	}
	return lines
}
