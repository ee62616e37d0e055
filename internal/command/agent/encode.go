// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/base/sample"
	"prywalk/internal/store/otlp"
	"prywalk/internal/store/profile"
)

type encoder struct {
	names     *profile.Names
	resolver  profile.Resolver
	resources *resources
	aggregate bool
	period    time.Duration // between ticks
	version   string
}

type encoding struct {
	encoder    *encoder
	dictionary *otlp.Dictionary
	stacks     map[sample.StackID]int64
	locations  map[profile.LocID]int64
	buf        []profile.Named
}

// encode returns an ExportProfilesServiceRequest: a resource per process, a profile per clock.
func (e *encoder) encode(w *window) (m protobuf.Message, intervals int) {
	rows := map[processKey][]row{}
	for r := range w.rows {
		rows[r.process] = append(rows[r.process], r)
	}
	processes := slices.SortedFunc(maps.Keys(rows), func(a, b processKey) int {
		return cmp.Or(a.pid-b.pid, cmp.Compare(a.start, b.start))
	})
	c := &encoding{e, otlp.NewDictionary(nil), map[sample.StackID]int64{}, map[profile.LocID]int64{}, nil}
	for _, p := range processes {
		if r := c.resource(p, w, rows[p]); r != nil {
			m.Bytes(1, r)
		}
	}
	for _, list := range w.rows {
		for _, p := range list {
			if p.values != (clockValues{}) {
				intervals++
			}
		}
	}
	e.resources.dropEnded(func(p processKey) bool { return rows[p] != nil })
	if len(m) == 0 {
		return nil, 0
	}
	m.Bytes(2, c.dictionary.Message())
	return m, intervals
}

func (e *encoding) resource(process processKey, w *window, rows []row) protobuf.Message {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(a.tid-b.tid, cmp.Compare(a.stack, b.stack)) })
	about := resourceMessage(slices.Concat(e.encoder.resources.attributesOf(process, rows[0].comm),
		e.encoder.resources.host))
	var samples otlp.Samples[point]
	for _, r := range rows {
		if slices.ContainsFunc(w.rows[r], func(p point) bool { return p.values != clockValues{} }) { // else sent before
			samples.Add(e.stack(r.stack), 0, e.attributes(&r), w.rows[r]...)
		}
	}
	var profiles []protobuf.Message
	for clock, name := range clockNames {
		p := samples.Profile(e.dictionary, name, profile.Nanoseconds, w.unix(w.from), w.to-w.from,
			func(p point) (int64, uint64, bool) {
				return p.values[clock], w.unix(min(max(p.end, w.from), w.to-1)), !e.encoder.aggregate
			})
		if p == nil {
			continue
		}
		p.Bytes(5, e.dictionary.ValueType(profile.TypeCPU, profile.Nanoseconds))
		p.Int(6, e.encoder.period.Nanoseconds())
		var id [16]byte
		_, _ = rand.Read(id[:])
		p.Bytes(7, id[:])
		profiles = append(profiles, p)
	}
	if profiles == nil {
		return nil
	}
	return otlp.Resource(about, e.encoder.version, profiles)
}

func (e *encoding) attributes(r *row) []int64 {
	return e.dictionary.ThreadAttributes(&otlp.ThreadAttributes{TID: int64(r.tid), Name: r.thread, State: r.state,
		Wait:     r.wait,
		WaitsFor: r.waitsFor, Owner: profile.OwnerText(r.owner), Role: r.role})
}

func (e *encoding) stack(id sample.StackID) int64 {
	if i, ok := e.stacks[id]; ok {
		return i
	}
	e.buf = e.encoder.names.Stack(id, e.encoder.resolver, e.buf[:0])
	list := make([]int64, len(e.buf))
	for i := range e.buf {
		list[i] = e.location(&e.buf[i])
	}
	if len(list) == 0 {
		list = append(list, e.dictionary.Location(&pprof.Location{Line: []pprof.Line{{Function: evicted}}}))
	}
	i := e.dictionary.Stack(list)
	e.stacks[id] = i
	return i
}

// evicted is the frame of a stack that was evicted before it was sent.
var evicted = &pprof.Function{Name: "[evicted]", SystemName: "[evicted]"}

func (e *encoding) location(l *profile.Named) int64 {
	if i, ok := e.locations[l.ID]; ok {
		return i
	}
	loc := pprof.Location{Address: l.Addr}
	for _, f := range l.Frames {
		if l.Machinery {
			f.System = profile.SystemNameOfType(cmp.Or(f.System, f.Name), profile.Machinery)
		}
		if f.Name != "" {
			loc.Line = append(loc.Line, pprof.Line{Line: int64(f.Line), Function: &pprof.Function{Name: f.Name,
				SystemName: cmp.Or(f.System, f.Name), Filename: f.File, StartLine: int64(f.StartLine)}})
		}
	}
	if m := l.Module; m != nil {
		loc.Mapping = &pprof.Mapping{Start: m.Start, Limit: m.End, Offset: m.FileOffset, File: m.Path, BuildID: m.BuildID}
	}
	i := e.dictionary.Location(&loc)
	e.locations[l.ID] = i
	return i
}
