// SPDX-License-Identifier: Apache-2.0

package top

import (
	pprof "github.com/google/pprof/profile"

	"prywalk/internal/base/cache"
	"prywalk/internal/base/sample"
	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
)

// maxNamedStacks bounds FunctionTable.whole.
const maxNamedStacks = 1 << 16

// FunctionTable has a location for each function of stacks. It is for one [Store], whose lock guards it; frames are of
// the goroutine of the snapshots.
type FunctionTable struct {
	names     *profile.Names
	locations map[function]*pprof.Location
	whole     map[sample.StackID][]*pprof.Location // completely named stacks
	mappings  []*pprof.Mapping
	byPath    map[string]*pprof.Mapping
	frames    *view.FrameTable
	buf       []profile.Named
	renamed   int64
}

// function is of the mapping's path; name is "" for code without a name.
type function struct{ name, path, source string }

// NewFunctionTable returns a table of a recording's functions.
func NewFunctionTable(names *profile.Names) *FunctionTable {
	return &FunctionTable{names: names, locations: map[function]*pprof.Location{},
		whole: map[sample.StackID][]*pprof.Location{}, byPath: map[string]*pprof.Mapping{}, frames: view.NewFrameTable()}
}

// stack returns modules in place of missing names, innermost first.
func (t *FunctionTable) stack(id sample.StackID) []*pprof.Location {
	if locs, ok := t.whole[id]; ok {
		return locs
	}
	if id == evictedStack {
		return []*pprof.Location{t.location(function{name: evictedName})}
	}
	var out, machinery []*pprof.Location
	final := true
	t.buf = t.names.Stack(id, nil, t.buf[:0])
	for i := range t.buf {
		l := &t.buf[i]
		final = final && l.Final
		if l.Machinery {
			machinery = t.appendLocations(l, machinery)
			continue
		}
		out = t.appendLocations(l, out)
	}
	if len(out) == 0 {
		out = machinery
	}
	if final {
		cache.Put(&t.whole, maxNamedStacks, id, out)
	}
	return out
}

func (t *FunctionTable) appendLocations(l *profile.Named, out []*pprof.Location) []*pprof.Location {
	path := ""
	if l.Module != nil {
		path = l.Module.Path
	}
	before := len(out)
	for i := range l.Frames {
		if f := &l.Frames[i]; f.Name != "" {
			out = append(out, t.location(function{f.Name, path, f.File}))
		}
	}
	if len(out) == before {
		out = append(out, t.location(function{path: path}))
	}
	return out
}

// location makes a function's location once: its frame takes regular expressions, microseconds.
func (t *FunctionTable) location(f function) *pprof.Location {
	l := t.locations[f]
	if l == nil {
		l = &pprof.Location{Mapping: t.mapping(f.path)}
		if f.name != "" {
			l.Line = []pprof.Line{{Function: &pprof.Function{Name: f.name, Filename: f.source}}}
		}
		t.locations[f] = l
	}
	return l
}

func (t *FunctionTable) mapping(path string) *pprof.Mapping {
	m := t.byPath[path]
	if m == nil && path != "" {
		m = &pprof.Mapping{File: path}
		t.byPath[path], t.mappings = m, append(t.mappings, m)
	}
	return m
}
