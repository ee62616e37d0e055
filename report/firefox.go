package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
)

// firefoxVersion is the version of the processed profile that is written; the viewer
// brings older versions up to its own.
const firefoxVersion = 54

// Firefox writes the profile for profiler.firefox.com, in its "processed" form: one track for each thread, in order
// of time, weighted by the chosen value. Where the recording holds processor time, the tracks' activity graphs show
// it.
func Firefox(w io.Writer, p *profile.Profile, o Options) error {
	o.Lines = false
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	d.opts.By = "thread"
	groups := d.grouped()
	for _, s := range d.prof.Sample { // number the frames before asking for their files
		d.stack(s)
	}
	ff := &firefoxBuilder{data: d, places: d.files(), start: d.prof.TimeNanos, cpu: -1}
	if i, ok := d.has(rec.TypeCPU); ok {
		ff.cpu = i
	}
	buf := bufio.NewWriter(w)
	out := &writer{w: buf}
	out.printf(`{"meta":`)
	out.json(ff.meta())
	out.printf(`,"libs":[],"pages":[],"profilerOverhead":[],"counters":[],"threads":[`)
	first := true
	for _, g := range groups {
		if len(g.samples) == 0 {
			continue
		}
		if !first {
			out.printf(",")
		}
		first = false
		out.json(ff.thread(g))
	}
	out.printf("]}\n")
	if out.err != nil {
		return out.err
	}
	return buf.Flush()
}

// json writes a value.
func (w *writer) json(v any) {
	b, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("encode: %w", err)
	}
	w.write(b)
}

// firefoxBuilder makes the parts of a processed profile.
type firefoxBuilder struct {
	*data
	places map[int32]funcPos
	start  int64 // nanoseconds of the Unix epoch
	cpu    int   // index of the processor time, -1 if there is none
}

// obj and list keep the format's many small tables readable.
type (
	obj  = map[string]any
	list = []any
)

func (ff *firefoxBuilder) meta() obj {
	s := ff.summary()
	interval := 10.0
	if s.Rate > 0 {
		interval = 1000 / s.Rate
	}
	category := func(name, color string) obj {
		return obj{"name": name, "color": color, "subcategories": list{"Other"}}
	}
	return obj{
		"version": 24, "preprocessedProfileVersion": firefoxVersion, "processType": 0, "debug": false, "symbolicated": true,
		"product": or(ff.opts.Title, s.Target), "interval": interval, "startTime": float64(ff.start) / 1e6,
		"categories":   list{category("Other", "grey"), category("Code", "blue"), category("Note", "yellow")},
		"extensions":   obj{"baseURL": list{}, "id": list{}, "name": list{}, "length": 0},
		"sampleUnits":  obj{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"},
		"pausedRanges": list{}, "usesOnlyOneStackType": true, "sourceCodeIsNotOnSearchfox": true, "markerSchema": list{},
	}
}

// thread makes one track.
func (ff *firefoxBuilder) thread(g *groupOf) obj {
	byTime(g.samples)
	t := newFirefoxThread(ff)
	now := 0.0
	for _, s := range g.samples {
		if end := number(s, rec.LabelEnd); end > 0 && ff.start > 0 {
			now = max(now, float64(end-ff.start)/1e6)
		} else {
			now += ff.millis(s)
		}
		t.sample(s, now)
	}
	functions := t.funcTable() // names the resources: first
	s := g.samples[0]
	pid, tid := number(s, rec.LabelPID), number(s, rec.LabelTID)
	return obj{
		"name": g.name, "isMainThread": pid == tid, "processType": "default",
		"processName": label(s, rec.LabelComm), "pid": strconv.FormatInt(pid, 10), "tid": strconv.FormatInt(tid, 10),
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
	if per, ok := tabular.NanosPer[ff.unit]; ok {
		return math.Max(0, float64(s.Value[ff.value])*per/1e6)
	}
	return 1
}

// weight gives a sample's weight; weightType says in what.
func (ff *firefoxBuilder) weight(s *profile.Sample) any {
	if _, ok := tabular.NanosPer[ff.unit]; ok {
		return ff.millis(s)
	}
	return s.Value[ff.value]
}

func (ff *firefoxBuilder) weightType() string {
	switch _, ok := tabular.NanosPer[ff.unit]; {
	case ok:
		return "tracing-ms"
	case ff.unit == "bytes":
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
