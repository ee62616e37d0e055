// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/hex"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	"prywalk/internal/store/otlp"
	rec "prywalk/internal/store/profile"
)

type otlpTables struct {
	*otlp.Dictionary
	locations map[*profile.Location]int64
}

func newTables(take func(int64) bool) *otlpTables {
	return &otlpTables{otlp.NewDictionary(take), map[*profile.Location]int64{}}
}

func (d *otlpTables) location(l *profile.Location) int64 {
	i, ok := d.locations[l]
	if ok {
		return i
	}
	var mapping int64
	var kind string
	if p := l.Mapping; p != nil {
		mapping = d.Mapping(&otlp.Mapping{Start: p.Start, Limit: p.Limit, Offset: p.Offset, File: p.File, BuildID: p.BuildID})
		kind = otlp.FrameType(p.File)
	}
	var lines []otlp.Line
	for _, line := range l.Line {
		n := otlp.Line{Line: line.Line, Column: line.Column}
		if f := line.Function; f != nil {
			n.Function = d.Function(f.Name, f.SystemName, f.Filename, f.StartLine)
		}
		lines = append(lines, n)
	}
	i = d.Location(mapping, l.Address, lines, kind)
	d.locations[l] = i
	return i
}

// link is 0 unless the sample has the ids of a span.
func (d *otlpTables) link(s *profile.Sample) int64 {
	trace, err := hex.DecodeString(view.Label(s, rec.LabelTrace))
	span, err2 := hex.DecodeString(view.Label(s, rec.LabelSpan))
	if err != nil || err2 != nil || len(trace) != 16 || len(span) != 8 {
		return 0
	}
	return d.Link(trace, span)
}

func (d *otlpTables) stack(s *profile.Sample) int64 {
	list := make([]int64, len(s.Location))
	for i, l := range s.Location {
		list[i] = d.location(l)
	}
	return d.Stack(list)
}
