// SPDX-License-Identifier: Apache-2.0

package export

import (
	"io"
	"math"
	"slices"
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
	d.AllFrames() // for places
	ff := &firefoxBuilder{data: d, places: d.Places(), start: d.Profile.TimeNanos, cpu: -1}
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
	data   *view.Data
	places map[int32]view.Place
	start  int64 // in nanoseconds of Unix time
	cpu    int   // index of CPU time, −1 if none
	taken  int64 // of memory, of the current track
}

// Memory of a track's parts with their text, in bytes.
const (
	firefoxSampleCost   = 480
	firefoxStackCost    = 120 // besides [view.NodeCost]
	firefoxFunctionCost = 640
	firefoxTextCost     = 128
	firefoxByteCost     = 20 // per byte of text: all may become escapes
)

func (ff *firefoxBuilder) take(n int64) bool {
	ff.taken += n
	return ff.data.Memory.Take(n)
}

type (
	object = map[string]any
	array  = []any
)

func (ff *firefoxBuilder) meta() object {
	s := ff.data.Summary()
	interval := 10.0
	if s.Rate > 0 {
		interval = 1000 / s.Rate
	}
	category := func(name, color string) object {
		return object{"name": name, "color": color, "subcategories": array{"Other"}}
	}
	return object{
		"version": 24, "preprocessedProfileVersion": firefoxVersion, "processType": 0, "debug": false, "symbolicated": true,
		"product": s.Target, "interval": interval, "startTime": float64(ff.start) / 1e6,
		"categories":   array{category("Other", "grey"), category("Code", "blue"), category("Note", "yellow")},
		"extensions":   object{"baseURL": array{}, "id": array{}, "name": array{}, "length": 0},
		"sampleUnits":  object{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"},
		"pausedRanges": array{}, "usesOnlyOneStackType": true, "sourceCodeIsNotOnSearchfox": true, "markerSchema": array{},
	}
}

func (ff *firefoxBuilder) thread(g *view.Group) object {
	view.SortByTime(g.Samples)
	t := &firefoxThread{ff: ff, strings: []string{}, stringAt: map[string]int{}, funcAt: map[int32]int{},
		resourceAt: map[string]int{}, tree: ff.data.NewCallTree()}
	time := 0.0 // ms since the start; without times, the sum of the samples' values so far
	for _, s := range g.Samples {
		if end := view.NumLabel(s, rec.LabelEnd); end > 0 && ff.start > 0 {
			time = max(time, float64(end-ff.start)/1e6)
		} else {
			time += ff.millis(s)
		}
		t.sample(s, time)
	}
	stacks := t.stackTable()   // numbers the functions
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
		"stackTable":  stacks,
		"samples":     t.samples(),
		"stringArray": t.strings,
	}
}

// millis is 1 for units that are no time.
func (ff *firefoxBuilder) millis(s *profile.Sample) float64 {
	if per, ok := tabular.NanosPer[ff.data.Unit]; ok {
		return math.Max(0, float64(s.Value[ff.data.ValueIndex])*per/1e6)
	}
	return 1
}

func (ff *firefoxBuilder) weight(s *profile.Sample) any {
	if _, ok := tabular.NanosPer[ff.data.Unit]; ok {
		return ff.millis(s)
	}
	return s.Value[ff.data.ValueIndex]
}

func (ff *firefoxBuilder) weightType() string {
	switch _, ok := tabular.NanosPer[ff.data.Unit]; {
	case ok:
		return "tracing-ms"
	case ff.data.Unit == "bytes":
		return "bytes"
	}
	return "samples"
}

// firefoxThread gives a function and its frame one number.
type firefoxThread struct {
	ff         *firefoxBuilder
	strings    []string
	stringAt   map[string]int
	funcs      []int32
	funcAt     map[int32]int
	resources  []string
	resourceAt map[string]int
	tree       *view.CallTree // of the stacks
	stacks     []int32
	times      []float64
	weights    []any
	cpuDeltas  []int64
}

func (t *firefoxThread) sample(s *profile.Sample, time float64) {
	if !t.ff.take(firefoxSampleCost) {
		return
	}
	node := int32(0)
	for _, f := range slices.Backward(t.ff.data.Table.Stack(s)) {
		node = t.tree.Child(node, f)
	}
	t.stacks = append(t.stacks, node-1)
	t.times = append(t.times, time)
	t.weights = append(t.weights, t.ff.weight(s))
	var cpu int64
	if t.ff.cpu >= 0 {
		cpu = max(0, s.Value[t.ff.cpu]/1000)
	}
	t.cpuDeltas = append(t.cpuDeltas, cpu)
}

// stackTable has the nodes of the tree without its root.
func (t *firefoxThread) stackTable() object {
	nodes := t.tree.Nodes[1:]
	t.ff.take(firefoxStackCost * int64(len(nodes)))
	t.ff.taken += view.NodeCost * int64(len(nodes))
	prefix, frame := column(len(nodes), nil), make([]int, len(nodes))
	for i, n := range nodes {
		if frame[i] = t.function(n.Frame); n.Parent > 0 {
			prefix[i] = n.Parent - 1
		}
	}
	return object{"length": len(nodes), "prefix": prefix, "frame": frame}
}

func (t *firefoxThread) function(frame int32) int {
	if _, ok := t.funcAt[frame]; !ok {
		t.ff.take(firefoxFunctionCost)
	}
	return rec.NumberIn(&t.funcs, t.funcAt, frame)
}

// str numbers a text; without memory, "".
func (t *firefoxThread) str(s string) int {
	if _, ok := t.stringAt[s]; !ok && !t.ff.take(int64(firefoxTextCost+firefoxByteCost*len(s))) {
		s = ""
	}
	return rec.NumberIn(&t.strings, t.stringAt, s)
}

func (t *firefoxThread) resource(module string) int {
	if module == "" {
		return -1
	}
	return rec.NumberIn(&t.resources, t.resourceAt, module)
}

func column(n int, v any) array { return slices.Repeat(array{v}, n) }

func (t *firefoxThread) samples() object {
	return object{"length": len(t.stacks), "weightType": t.ff.weightType(), "stack": t.stacks, "time": t.times,
		"weight": t.weights, "threadCPUDelta": t.cpuDeltas}
}

// funcTable also numbers modules, for resourceTable.
func (t *firefoxThread) funcTable() object {
	n := len(t.funcs)
	name, resource, file, line := make([]int, n), make([]int, n), make([]any, n), make([]any, n)
	for i, f := range t.funcs {
		fr := &t.ff.data.Table.Frames[f]
		name[i], resource[i] = t.str(fr.Name), t.resource(fr.Module)
		if p := t.ff.places[f]; p.File != "" {
			if file[i] = t.str(p.File); p.Line != 0 {
				line[i] = p.Line
			}
		}
	}
	no := column(n, false)
	return object{"length": n, "name": name, "isJS": no, "relevantForJS": no, "resource": resource,
		"fileName": file, "lineNumber": line, "columnNumber": column(n, nil)}
}

func (t *firefoxThread) frameTable() object {
	n := len(t.funcs)
	fn, category := make([]int, n), make([]int, n)
	for i, f := range t.funcs {
		fn[i], category[i] = i, 1
		if t.ff.data.Table.Frames[f].Synthetic() {
			category[i] = 2
		}
	}
	null, zero := column(n, nil), column(n, 0)
	return object{"length": n, "address": column(n, -1), "inlineDepth": zero, "category": category, "subcategory": zero,
		"func": fn, "nativeSymbol": null, "innerWindowID": null, "line": null, "column": null}
}

// resourceTable has type 1: libraries.
func (t *firefoxThread) resourceTable() object {
	n := len(t.resources)
	name := make([]int, n)
	for i, r := range t.resources {
		name[i] = t.str(r)
	}
	return object{"length": n, "lib": column(n, nil), "name": name, "host": column(n, nil), "type": column(n, 1)}
}
