// SPDX-License-Identifier: Apache-2.0

package export

import (
	"github.com/google/pprof/profile"

	"prywalk/internal/otlp"
)

type otlpTables struct {
	*otlp.Dictionary
	mappings  map[*profile.Mapping]int64
	functions map[*profile.Function]int64
	locations map[*profile.Location]int64
}

func newTables(take func(int64) bool) *otlpTables {
	return &otlpTables{
		Dictionary: otlp.NewDictionary(take), mappings: map[*profile.Mapping]int64{},
		functions: map[*profile.Function]int64{}, locations: map[*profile.Location]int64{},
	}
}

func (d *otlpTables) mapping(p *profile.Mapping) int64 {
	i, ok := d.mappings[p]
	if !ok {
		i = d.Mapping(&otlp.Mapping{Start: p.Start, Limit: p.Limit, Offset: p.Offset, File: p.File, BuildID: p.BuildID})
		d.mappings[p] = i
	}
	return i
}

func (d *otlpTables) function(f *profile.Function) int64 {
	i, ok := d.functions[f]
	if !ok {
		i = d.Function(f.Name, f.SystemName, f.Filename, f.StartLine)
		d.functions[f] = i
	}
	return i
}

func (d *otlpTables) location(l *profile.Location) int64 {
	i, ok := d.locations[l]
	if ok {
		return i
	}
	var mapping int64
	var kind string
	if l.Mapping != nil {
		mapping, kind = d.mapping(l.Mapping), otlp.FrameType(l.Mapping.File)
	}
	var lines []otlp.Line
	for _, line := range l.Line {
		n := otlp.Line{Line: line.Line, Column: line.Column}
		if line.Function != nil {
			n.Function = d.function(line.Function)
		}
		lines = append(lines, n)
	}
	i = d.Location(mapping, l.Address, lines, kind)
	d.locations[l] = i
	return i
}

func (d *otlpTables) stack(s *profile.Sample) int64 {
	list := make([]int64, len(s.Location))
	for i, l := range s.Location {
		list[i] = d.location(l)
	}
	return d.Stack(list)
}
