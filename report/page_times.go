// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// Of more intervals, those of a row within a cell of time are merged: 800,000 are about 7 MB of the page.
var maxPageIntervals = 800_000

const (
	pageIntervalCost = 160
	// noPageTime, in nanoseconds since the recording's beginning, is of samples without a time stamp: no part of the time
	// has them.
	noPageTime = -1 << 50
)

// pageGrids are the lengths of cells that are tried, in nanoseconds; 0 means that nothing is merged.
var pageGrids = [...]int64{0, 10e6, 100e6, 1e9, 10e9, 60e9, 600e9, 3600e9}

// pageTimes has the intervals of the rows, by thread and time.
type pageTimes struct {
	Begin  int64 `json:"begin"`  // since the recording's beginning, in nanoseconds
	Length int64 `json:"length"` // in nanoseconds
	Grid   int64 `json:"grid"`   // selections begin and end at multiples of it, in nanoseconds; 0 means anywhere
	Rows   int   `json:"rows"`   // page.Rows is empty
	Count  int   `json:"count"`
	// Columns is deflated: of all rows the difference of the node from the row before, then of the context; of all
	// intervals the row, then the time since the end of the one before, then the length, then
	// for each type of values the differences from [pageBuilder.predict]; each number as a zigzag varint.
	Columns []byte `json:"columns"`
	Size    int    `json:"size"` // of Columns inflated, in bytes
}

type pageInterval struct {
	row        int32 // first of pageBuilder.rows, then of page.Rows
	begin, end int64 // since the recording's beginning, in nanoseconds
	values     []int64
}

func (b *pageBuilder) isTimed() bool {
	c, ok := view.ClocksOf(b.data.Profile)
	return ok && c.Wall < c.RunQueue && c.RunQueue < c.CPU && b.data.Profile.TimeNanos != 0 &&
		b.data.Profile.DurationNanos > 0 &&
		slices.ContainsFunc(b.data.Profile.Sample,
			func(s *profile.Sample) bool { return view.NumLabel(s, rec.LabelEnd) != 0 })
}

func (b *pageBuilder) addInterval(row int32, s *profile.Sample) {
	clocks, _ := view.ClocksOf(b.data.Profile)
	if !b.data.Memory.Take(pageIntervalCost) {
		return
	}
	i := pageInterval{row, noPageTime, noPageTime, s.Value}
	if end := view.NumLabel(s, rec.LabelEnd); end != 0 {
		i.end = end + int64(b.data.Options.From) - b.data.Profile.TimeNanos
		i.begin = i.end - s.Value[clocks.Wall]
	}
	b.intervals = append(b.intervals, i)
}

func (b *pageBuilder) writeTimes(numbers []int32) {
	for i := range b.intervals {
		b.intervals[i].row = numbers[b.intervals[i].row]
	}
	b.page.Times = &pageTimes{Begin: int64(b.data.Options.From), Length: b.data.Profile.DurationNanos}
	list := b.intervals
	for _, grid := range pageGrids {
		if b.page.Times.Grid = grid; grid > 0 {
			list = mergeInCells(list, grid)
		}
		if len(list) <= maxPageIntervals {
			break
		}
	}
	if grid := b.page.Times.Grid; grid > 0 {
		note := fmt.Sprintf("parts of the time begin and end at multiples of %s, as the recording has %s",
			tabular.Nanos(grid), tabular.Plural(int64(len(b.intervals)), "interval"))
		b.page.Note = strings.TrimPrefix(b.page.Note+"; "+note, "; ")
	}
	thread := func(i *pageInterval) int { return b.page.Contexts[4*b.page.Rows[int(i.row)*b.stride()+1]] }
	slices.SortStableFunc(list, func(x, y pageInterval) int {
		return cmp.Or(cmp.Compare(thread(&x), thread(&y)), cmp.Compare(x.begin, y.begin))
	})
	if b.page.Times.Grid > 0 {
		b.separate(list, thread)
	}
	b.page.Times.Rows, b.page.Times.Count = len(b.page.Rows)/b.stride(), len(list)
	columns := b.columns(list)
	b.page.Rows, b.page.Times.Size = nil, len(columns)
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.DefaultCompression) // the level is valid, and a buffer takes all
	_, _ = w.Write(columns)
	_ = w.Close()
	b.page.Times.Columns = packed.Bytes()
}

func (b *pageBuilder) stride() int { return 2 + len(b.data.Profile.SampleType) }

// mergeInCells merges a row's intervals that lie in one cell of time.
func mergeInCells(list []pageInterval, grid int64) (merged []pageInterval) {
	slices.SortStableFunc(list, func(x, y pageInterval) int {
		return cmp.Or(cmp.Compare(x.row, y.row), cmp.Compare(x.end, y.end))
	})
	cell := func(i *pageInterval) int64 { return (i.end - 1) / grid } // a moment belongs to the cell that it ends
	for _, i := range list {
		if n := len(merged) - 1; n >= 0 && merged[n].row == i.row && cell(&merged[n]) == cell(&i) &&
			min(i.begin, merged[n].begin) >= cell(&i)*grid {
			last := &merged[n]
			last.begin, last.end = min(last.begin, i.begin), max(last.end, i.end)
			last.values = slices.Clone(last.values)
			view.Add(last.values, i.values)
			continue
		}
		merged = append(merged, i)
	}
	return merged
}

// separate divides intervals, by thread and time, into those of one thread that end in one cell.
func (b *pageBuilder) separate(list []pageInterval, thread func(*pageInterval) int) {
	cell := func(i *pageInterval) int64 { return (i.end - 1) / b.page.Times.Grid }
	for first, n := 0, 1; n <= len(list); n++ {
		if n == len(list) || thread(&list[n]) != thread(&list[first]) || cell(&list[n]) != cell(&list[first]) {
			b.inTurn(list[first:n], cell(&list[first])*b.page.Times.Grid)
			first = n
		}
	}
}

// inTurn shortens a thread's merged intervals to their wall time, and moves those that overlap apart: a merged interval
// reaches from the first to the last of its parts, with others between. What has more wall time than its cell has room
// for, as goroutines without a thread, stays.
func (b *pageBuilder) inTurn(list []pageInterval, cell int64) {
	clocks, _ := view.ClocksOf(b.data.Profile)
	var inCell []*pageInterval
	at, end, wall := int64(0), int64(0), int64(0)
	for i := range list {
		if m := &list[i]; m.begin >= cell && m.values[clocks.Wall] > 0 {
			inCell = append(inCell, m)
			end, wall = max(end, m.end), wall+m.values[clocks.Wall]
		}
	}
	if len(inCell) > 0 {
		at = inCell[0].begin
	}
	if wall > end-at {
		return
	}
	for _, m := range inCell { // each at its time, or as near to it as those before and after it leave room
		m.begin = max(at, min(m.begin, end-wall))
		m.end = m.begin + m.values[clocks.Wall]
		at, wall = m.end, wall-m.values[clocks.Wall]
	}
}

func (b *pageBuilder) columns(list []pageInterval) (out []byte) {
	put := func(v int64) { out = binary.AppendVarint(out, v) }
	for field := range 2 {
		before := int64(0)
		for at := field; at < len(b.page.Rows); at += b.stride() {
			put(b.page.Rows[at] - before)
			before = b.page.Rows[at]
		}
	}
	for i := range list {
		put(int64(list[i].row))
	}
	end := int64(0)
	for i := range list {
		put(list[i].begin - end)
		end = list[i].end
	}
	for i := range list {
		put(list[i].end - list[i].begin)
	}
	for n := range b.data.Profile.SampleType {
		for i := range list {
			put(list[i].values[n] - b.predict(&list[i], n))
		}
	}
	return out
}

// predict is the value that the length and the values before it let expect.
func (b *pageBuilder) predict(i *pageInterval, value int) int64 {
	clocks, _ := view.ClocksOf(b.data.Profile)
	context := b.page.Rows[int(i.row)*b.stride()+1]
	switch v := i.values; b.data.Profile.SampleType[value].Type {
	case rec.TypeWall:
		return i.end - i.begin
	case rec.TypeCPU:
		if b.page.Strings[b.page.Contexts[4*context+1]] == "running" {
			return v[clocks.Wall] - v[clocks.RunQueue]
		}
	case view.TypeBlocked:
		return v[clocks.Wall] - v[clocks.RunQueue] - v[clocks.CPU]
	}
	return 0
}
