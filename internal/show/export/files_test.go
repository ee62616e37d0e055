// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

const start = 1700000000e9

// shop has two threads: main runs buy, from two places, and net waits. The samples are not in the order of time.
func shop() *profile.Profile {
	p := &profile.Profile{TimeNanos: start, DurationNanos: 1e9, Period: 10e6,
		PeriodType: &profile.ValueType{Type: rec.TypeWall, Unit: "nanoseconds"}, Comments: []string{"a comment"}}
	for _, name := range []string{rec.TypeSamples, rec.TypeWall, rec.TypeRunQueue, rec.TypeCPU} {
		unit := "nanoseconds"
		if name == rec.TypeSamples {
			unit = "count"
		}
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	app := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, File: "/srv/app"}
	p.Mapping = []*profile.Mapping{app}
	locations := map[string]*profile.Location{}
	location := func(name string) *profile.Location {
		if locations[name] == nil {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
			l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: int64(10 * f.ID)}}}
			if !strings.HasPrefix(name, "[") {
				l.Mapping, l.Address = app, 0x1000+f.ID
				f.Filename, f.StartLine = "/src/"+name+".c", int64(f.ID)
			}
			p.Function, p.Location, locations[name] = append(p.Function, f), append(p.Location, l), l
		}
		return locations[name]
	}
	for _, s := range []struct {
		tid       int64
		thread    string
		end       int64 // ms
		wall, cpu int64 // ms
		stack     string
	}{
		{7, "main", 300, 100, 55, "buy cart main"},
		{7, "main", 200, 100, 44, "buy main"},
		{8, "net", 1000, 900, 0, "poll [waiting] main"},
		{7, "main", 400, 100, 2, "buy cart main"},
		{7, "main", 500, 0, 0, "main"},
	} {
		x := &profile.Sample{Value: []int64{1, s.wall * 1e6, 0, s.cpu * 1e6},
			Label:    map[string][]string{rec.LabelComm: {"shop"}, rec.LabelThread: {s.thread}},
			NumLabel: map[string][]int64{rec.LabelPID: {7}, rec.LabelTID: {s.tid}, rec.LabelEnd: {start + s.end*1e6}}}
		for name := range strings.FieldsSeq(s.stack) {
			x.Location = append(x.Location, location(name))
		}
		p.Sample = append(p.Sample, x)
	}
	return p
}

func TestSpeedscopeHasAListOfStacksForEachThreadThatHasTime(t *testing.T) {
	head := `{"$schema":"https://www.speedscope.app/file-format-schema.json","name":"shop (pid 7)",` +
		`"exporter":"prywalk","profiles":[`
	main := `{"type":"sampled","name":"main (tid 7)","unit":"nanoseconds","startValue":0,"samples":[[%[1]d,%[2]d],` +
		`[%[1]d,%[3]d,%[2]d],[%[1]d,%[3]d,%[2]d]],"weights":[%[4]s],"endValue":%[5]d}`
	for value, want := range map[string]string{
		rec.TypeCPU: head + fmt.Sprintf(main, 2, 0, 1, "44000000,55000000,2000000", 101000000),
		rec.TypeWall: head + `{"type":"sampled","name":"net (tid 8)","unit":"nanoseconds","startValue":0,` +
			`"samples":[[2,4,3]],"weights":[900000000],"endValue":900000000},` +
			fmt.Sprintf(main, 2, 0, 1, "100000000,100000000,100000000", 300000000),
	} {
		var out bytes.Buffer
		if err := Speedscope(&out, shop(), view.Options{Value: value}); err != nil {
			t.Fatal(err)
		}
		got, frames, _ := strings.Cut(out.String(), `],"shared":{"frames":[`)
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", value, got, want)
		}
		if !strings.HasPrefix(frames,
			`{"name":"buy","file":"/src/buy.c","line":1},{"name":"cart","file":"/src/cart.c","line":2},`) {
			t.Errorf("%s: %s", value, frames)
		}
	}
}

type firefoxFile struct {
	Meta struct {
		Product   string
		Interval  float64
		StartTime float64
	}
	Threads []struct {
		Name, ProcessName, PID, TID string
		IsMainThread                bool
		StringArray                 []string
		ResourceTable               struct {
			Length     int
			Name, Type []int
		}
		FrameTable struct {
			Length         int
			Func, Category []int
		}
		FuncTable struct {
			Length         int
			Name, Resource []int
			FileName       []*int
			LineNumber     []*int
		}
		StackTable struct {
			Length int
			Prefix []*int
			Frame  []int
		}
		Samples struct {
			Length         int
			WeightType     string
			Stack          []int
			Time, Weight   []float64
			ThreadCPUDelta []int64
		}
	}
}

func TestFirefoxHasTheStacksOfEachThreadInOrderOfTime(t *testing.T) {
	var out bytes.Buffer
	if err := Firefox(&out, shop(), view.Options{Value: rec.TypeWall}); err != nil {
		t.Fatal(err)
	}
	var file firefoxFile
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	if m := file.Meta; m.Product != "shop (pid 7)" || m.Interval != 10 || m.StartTime != start/1e6 {
		t.Errorf("%+v", m)
	}
	var got []string
	for _, th := range file.Threads {
		got = append(got, fmt.Sprintf("%s of %s %s/%s main %t, %s", th.Name, th.ProcessName, th.PID, th.TID,
			th.IsMainThread,
			th.Samples.WeightType))
		for i, stack := range th.Samples.Stack {
			line := fmt.Sprintf("%v %v %d", th.Samples.Time[i], th.Samples.Weight[i], th.Samples.ThreadCPUDelta[i])
			for at := &stack; at != nil; at = th.StackTable.Prefix[*at] {
				frame := th.StackTable.Frame[*at]
				f := th.FrameTable.Func[frame]
				line += " " + th.StringArray[th.FuncTable.Name[f]]
				if n := th.FuncTable.Resource[f]; n >= 0 {
					line += "@" + th.StringArray[th.ResourceTable.Name[n]]
				}
				if file, l := th.FuncTable.FileName[f], th.FuncTable.LineNumber[f]; file != nil && l != nil {
					line += fmt.Sprintf("(%s:%d)", th.StringArray[*file], *l)
				}
				line += fmt.Sprintf("/%d", th.FrameTable.Category[frame])
			}
			got = append(got, line)
		}
		if th.Samples.Length != len(th.Samples.Stack) || th.StackTable.Length != len(th.StackTable.Frame) ||
			th.FuncTable.Length != len(th.FuncTable.Name) || th.FrameTable.Length != len(th.FrameTable.Func) ||
			th.ResourceTable.Length != len(th.ResourceTable.Name) {
			t.Errorf("lengths of %+v", th)
		}
	}
	const buy, cart, main = " buy@app(/src/buy.c:1)/1", " cart@app(/src/cart.c:2)/1", " main@app(/src/main.c:3)/1"
	want := []string{
		"net (tid 8) of shop 7/8 main false, tracing-ms", "1000 900 0 poll@app(/src/poll.c:4)/1 [waiting]/2" + main,
		"main (tid 7) of shop 7/7 main true, tracing-ms", "200 100 44000" + buy + main, "300 100 55000" + buy + cart + main,
		"400 100 2000" + buy + cart + main, "500 0 0" + main,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFirefoxTimesOfAProfileWithoutTimeStampsAreItsValuesSoFar(t *testing.T) {
	for _, c := range []struct {
		unit, kind     string
		times, weights []float64
	}{
		{"milliseconds", "tracing-ms", []float64{3, 3, 10}, []float64{3, 0, 7}},
		{"bytes", "bytes", []float64{1, 2, 3}, []float64{3, -5, 7}},
		{"count", "samples", []float64{1, 2, 3}, []float64{3, -5, 7}},
	} {
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "values", Unit: c.unit}}}
		for _, v := range []int64{3, -5, 7} {
			p.Sample = append(p.Sample, &profile.Sample{Value: []int64{v}})
		}
		var out bytes.Buffer
		var file firefoxFile
		err := Firefox(&out, p, view.Options{})
		if err == nil {
			err = json.Unmarshal(out.Bytes(), &file)
		}
		if err != nil || len(file.Threads) != 1 {
			t.Fatalf("%s: %v, %d threads", c.unit, err, len(file.Threads))
		}
		s := file.Threads[0].Samples
		if s.WeightType != c.kind || !reflect.DeepEqual(s.Time, c.times) || !reflect.DeepEqual(s.Weight, c.weights) ||
			!reflect.DeepEqual(s.ThreadCPUDelta, []int64{0, 0, 0}) {
			t.Errorf("%s: %+v, want %+v", c.unit, s, c)
		}
	}
}

// Half a period rounds: 57 and 44 ms are 6 and 4 periods of 10 ms, and 2 ms go from the first to the second.
func TestPGOCountsPeriodsOfStacksThatRan(t *testing.T) {
	q, err := pgoProfile(shop(), view.Options{Value: rec.TypeWall})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range q.Sample {
		line := fmt.Sprint(s.Value, len(s.Label), len(s.NumLabel))
		for _, l := range s.Location {
			line += " " + l.Line[0].Function.Name
		}
		got = append(got, line)
	}
	want := []string{"[6 57000000] 0 0 buy cart main", "[4 44000000] 0 0 buy main"}
	if !reflect.DeepEqual(got, want) || q.DefaultSampleType != "" || len(q.Comments) != 0 || len(q.SampleType) != 2 {
		t.Errorf("%q, %v, %q, %v; want %q", got, q.SampleType, q.DefaultSampleType, q.Comments, want)
	}
	short := shop()
	for _, s := range short.Sample {
		s.Value[3] /= 1000
	}
	if _, err := pgoProfile(short, view.Options{}); err == nil || !strings.Contains(err.Error(),
		"less than one period") {
		t.Errorf("of less than a period: %v", err)
	}
	none := shop()
	none.SampleType[3].Type = "other"
	if err := PGO(&bytes.Buffer{}, none, view.Options{}); err == nil || !strings.HasPrefix(err.Error(),
		"no CPU time for optimisation: ") {
		t.Errorf("without CPU time: %v", err)
	}
}

func TestPGOLeavesOutFramesThatAreNoCode(t *testing.T) {
	p := shop()
	for _, s := range p.Sample {
		s.Value[3] = 10e6
	}
	q, err := pgoProfile(p, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range q.Sample {
		for _, l := range s.Location {
			if strings.HasPrefix(l.Line[0].Function.Name, "[") {
				t.Errorf("%+v", s)
			}
		}
	}
	if len(q.Sample) != 4 {
		t.Errorf("%d stacks, want 4", len(q.Sample))
	}
}
