// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"io"
	"math"
	"strconv"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// firefoxVersion may be an old one: the viewer upgrades profiles.
const firefoxVersion = 54

// Firefox writes the "processed" form of profiler.firefox.com: a track per thread, in order of time, weighted by the
// chosen value.
func Firefox(w io.Writer, p *profile.Profile, o view.Options) error {
	o.Lines = false
	return view.Write(w, p, o, writeFirefox)
}

func writeFirefox(d *view.Data, to io.Writer) error {
	for _, s := range d.Profile.Sample { // numbers the frames
		d.Stack(s)
	}
	ff := &firefoxBuilder{Data: d, places: d.Places(), start: d.Profile.TimeNanos, cpu: -1}
	if i, ok := d.TypeIndex(rec.TypeCPU); ok {
		ff.cpu = i
	}
	out := printable.NewJSONWriter(to)
	out.Text(`{"meta":`)
	out.Value(ff.meta())
	out.Text(`,"libs":[],"pages":[],"profilerOverhead":[],"counters":[],"threads":[`)
	for i, g := range d.Groups("thread") {
		t := ff.thread(g)
		if d.Memory.Err() != nil {
			break
		}
		out.Comma(i)
		out.Value(t)
		d.Memory.Give(ff.taken)
		ff.taken = 0
	}
	out.Text("]}\n")
	return out.Err()
}

type firefoxBuilder struct {
	*view.Data
	places map[int32]view.Place
	start  int64 // Unix epoch, ns
	cpu    int   // index of CPU time, −1 if none
	taken  int64 // of memory, of the current track
}

// Memory of a track's parts with their text, in bytes.
const (
	firefoxSampleCost   = 480
	firefoxStackCost    = 320
	firefoxFunctionCost = 640
	firefoxTextCost     = 128
	firefoxByteCost     = 20 // per byte of text: all may become escapes
)

func (ff *firefoxBuilder) take(n int64) bool {
	ff.taken += n
	return ff.Memory.Take(n)
}

type (
	object = map[string]any
	array  = []any
)

func (ff *firefoxBuilder) meta() object {
	s := ff.Summary()
	interval := 10.0
	if s.Rate > 0 {
		interval = 1000 / s.Rate
	}
	category := func(name, color string) object {
		return object{"name": name, "color": color, "subcategories": array{"Other"}}
	}
	return object{
		"version": 24, "preprocessedProfileVersion": firefoxVersion, "processType": 0, "debug": false, "symbolicated": true,
		"product": cmp.Or(ff.Options.Title, s.Target), "interval": interval, "startTime": float64(ff.start) / 1e6,
		"categories":   array{category("Other", "grey"), category("Code", "blue"), category("Note", "yellow")},
		"extensions":   object{"baseURL": array{}, "id": array{}, "name": array{}, "length": 0},
		"sampleUnits":  object{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"},
		"pausedRanges": array{}, "usesOnlyOneStackType": true, "sourceCodeIsNotOnSearchfox": true, "markerSchema": array{},
	}
}

func (ff *firefoxBuilder) thread(g *view.Group) object {
	view.SortByTime(g.Samples)
	t := &firefoxThread{ff: ff, strings: []string{}, stringAt: map[string]int{}, funcAt: map[int32]int{},
		resourceAt: map[string]int{}, prefix: []any{}, stackFrame: []int{}, stackAt: map[view.Edge]int32{}}
	time := 0.0 // ms since the start; without times, the sum of the samples' values so far
	for _, s := range g.Samples {
		if end := view.NumLabel(s, rec.LabelEnd); end > 0 && ff.start > 0 {
			time = max(time, float64(end-ff.start)/1e6)
		} else {
			time += ff.millis(s)
		}
		t.sample(s, time)
	}
	functions := t.funcTable() // numbers the resources
	s := g.Samples[0]
	pid, tid := view.NumLabel(s, rec.LabelPID), view.NumLabel(s, rec.LabelTID)
	return object{
		"name": g.Name, "isMainThread": pid == tid, "processType": "default",
		"processName": view.Label(s, rec.LabelComm), "pid": strconv.FormatInt(pid, 10), "tid": strconv.FormatInt(tid, 10),
		"processStartupTime": 0, "processShutdownTime": nil, "registerTime": 0, "unregisterTime": nil,
		"pausedRanges": array{}, "showMarkersInTimeline": false,
		"markers": object{"length": 0, "category": array{}, "data": array{}, "endTime": array{}, "name": array{},
			"phase": array{}, "startTime": array{}},
		"nativeSymbols": object{"length": 0, "address": array{}, "functionSize": array{}, "libIndex": array{},
			"name": array{}},
		"resourceTable": t.resourceTable(), "frameTable": t.frameTable(), "funcTable": functions,
		"stackTable":  object{"length": len(t.stackFrame), "prefix": t.prefix, "frame": t.stackFrame},
		"samples":     t.samples(),
		"stringArray": t.strings,
	}
}

// millis is 1 for units that are no time.
func (ff *firefoxBuilder) millis(s *profile.Sample) float64 {
	if per, ok := tabular.NanosPer[ff.Unit]; ok {
		return math.Max(0, float64(s.Value[ff.ValueIndex])*per/1e6)
	}
	return 1
}

func (ff *firefoxBuilder) weight(s *profile.Sample) any {
	if _, ok := tabular.NanosPer[ff.Unit]; ok {
		return ff.millis(s)
	}
	return s.Value[ff.ValueIndex]
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
