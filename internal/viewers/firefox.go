// SPDX-License-Identifier: Apache-2.0

// Package viewers writes a profile for other programs: the Firefox Profiler, Speedscope, and Go's compiler.
package viewers

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

// firefoxVersion is the version of the processed profile that is written; the viewer
// brings older versions up to its own.
const firefoxVersion = 54

// Firefox writes the profile for profiler.firefox.com, in its "processed" form: one track for each thread, in order
// of time, weighted by the chosen value. Where the recording holds processor time, the tracks' activity graphs show
// it.
func Firefox(w io.Writer, p *profile.Profile, o view.Options) error {
	o.Lines = false
	d, err := view.New(p, o)
	if err != nil {
		return err
	}
	defer d.Close()
	groups := d.Grouped("thread")
	for _, s := range d.Profile.Sample { // number the frames before asking for their files
		d.Stack(s)
	}
	ff := &firefoxBuilder{Data: d, places: d.Places(), start: d.Profile.TimeNanos, cpu: -1}
	if i, ok := d.Has(rec.TypeCPU); ok {
		ff.cpu = i
	}
	buf := bufio.NewWriter(d.Writer(w))
	out := printable.NewWriter(buf)
	out.Printf(`{"meta":`)
	writeJSON(out, ff.meta())
	out.Printf(`,"libs":[],"pages":[],"profilerOverhead":[],"counters":[],"threads":[`)
	first := true
	for _, g := range groups {
		if len(g.Samples) == 0 {
			continue
		}
		if !first {
			out.Printf(",")
		}
		first = false
		t := ff.thread(g)
		if d.Err() != nil {
			break
		}
		writeJSON(out, t)
		d.Give(ff.taken)
		ff.taken = 0
	}
	out.Printf("]}\n")
	return cmp.Or(d.Err(), out.Err(), buf.Flush())
}

// firefoxBuilder makes the parts of a processed profile.
type firefoxBuilder struct {
	*view.Data
	places map[int32]view.Place
	start  int64 // nanoseconds of the Unix epoch
	cpu    int   // index of the processor time, -1 if there is none
	taken  int64 // bytes of memory, for the track that is being made
}

// What the parts of a track take until it is written, with their text, in bytes.
const (
	firefoxSampleCost   = 480
	firefoxStackCost    = 320
	firefoxFunctionCost = 640
	firefoxTextCost     = 128
	firefoxByteCost     = 20 // of a text, whose characters may all become escapes
)

// take takes n bytes for the track that is being made.
func (ff *firefoxBuilder) take(n int64) bool {
	ff.taken += n
	return ff.Take(n)
}

// obj and list keep the format's many small tables readable.
type (
	obj  = map[string]any
	list = []any
)

func (ff *firefoxBuilder) meta() obj {
	s := ff.Summary()
	interval := 10.0
	if s.Rate > 0 {
		interval = 1000 / s.Rate
	}
	category := func(name, color string) obj {
		return obj{"name": name, "color": color, "subcategories": list{"Other"}}
	}
	return obj{
		"version": 24, "preprocessedProfileVersion": firefoxVersion, "processType": 0, "debug": false, "symbolicated": true,
		"product": cmp.Or(ff.Options.Title, s.Target), "interval": interval, "startTime": float64(ff.start) / 1e6,
		"categories":   list{category("Other", "grey"), category("Code", "blue"), category("Note", "yellow")},
		"extensions":   obj{"baseURL": list{}, "id": list{}, "name": list{}, "length": 0},
		"sampleUnits":  obj{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"},
		"pausedRanges": list{}, "usesOnlyOneStackType": true, "sourceCodeIsNotOnSearchfox": true, "markerSchema": list{},
	}
}

// thread makes one track.
func (ff *firefoxBuilder) thread(g *view.Group) obj {
	view.ByTime(g.Samples)
	t := newFirefoxThread(ff)
	now := 0.0
	for _, s := range g.Samples {
		if end := view.Number(s, rec.LabelEnd); end > 0 && ff.start > 0 {
			now = max(now, float64(end-ff.start)/1e6)
		} else {
			now += ff.millis(s)
		}
		t.sample(s, now)
	}
	functions := t.funcTable() // names the resources: first
	s := g.Samples[0]
	pid, tid := view.Number(s, rec.LabelPID), view.Number(s, rec.LabelTID)
	return obj{
		"name": g.Name, "isMainThread": pid == tid, "processType": "default",
		"processName": view.Label(s, rec.LabelComm), "pid": strconv.FormatInt(pid, 10), "tid": strconv.FormatInt(tid, 10),
		"processStartupTime": 0, "processShutdownTime": nil, "registerTime": 0, "unregisterTime": nil,
		"pausedRanges": list{}, "showMarkersInTimeline": false,
		"markers": obj{"length": 0, "category": list{}, "data": list{}, "endTime": list{}, "name": list{},
			"phase": list{}, "startTime": list{}},
		"nativeSymbols": obj{"length": 0, "address": list{}, "functionSize": list{}, "libIndex": list{}, "name": list{}},
		"resourceTable": t.resourceTable(), "frameTable": t.frameTable(), "funcTable": functions,
		"stackTable":  obj{"length": len(t.stackFrame), "prefix": t.prefix, "frame": t.stackFrame},
		"samples":     t.samples(),
		"stringArray": t.strings,
	}
}

// millis gives a sample's value as milliseconds; others than times count as one each.
func (ff *firefoxBuilder) millis(s *profile.Sample) float64 {
	if per, ok := tabular.NanosPer[ff.Unit]; ok {
		return math.Max(0, float64(s.Value[ff.Value])*per/1e6)
	}
	return 1
}

// weight gives a sample's weight; weightType says in what.
func (ff *firefoxBuilder) weight(s *profile.Sample) any {
	if _, ok := tabular.NanosPer[ff.Unit]; ok {
		return ff.millis(s)
	}
	return s.Value[ff.Value]
}

func (ff *firefoxBuilder) weightType() string {
	switch _, ok := tabular.NanosPer[ff.Unit]; {
	case ok:
		return "tracing-ms"
	case ff.Unit == "bytes":
		return "bytes"
	}
	return "samples"
}

// nullable is a number for the format, which has null for unknown.
func nullable(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// writeJSON writes a value.
func writeJSON(out *printable.Writer, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		out.Fail(fmt.Errorf("encode: %w", err))
	}
	out.Bytes(b)
}
