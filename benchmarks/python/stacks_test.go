// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"reflect"
	"testing"

	pprof "github.com/google/pprof/profile"
)

var wanted = []frame{{"app.py", "<module>", 19}, {"common.py", "leaf", 61}}

func TestLinesOfAllToolsAreTheSameStack(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		parse  func(string) (stack, bool)
		weight float64
	}{
		"py-spy": {"<module> (app.py:19);Work.leaf (lib/common.py:61) 4", pySpyLine, 4},
		"py-spy --native": {"0x7f (libc.so.6);<module> (app.py:19);leaf (common.py:61);sum (sum.c:12);f (x.so.1) 4",
			pySpyLine, 4},
		"austin":  {"P1;T0:1;/a/app.py:<module>:19;/a/common.py:f.<locals>.leaf:61;:GC: 6761", austinLine, 6761},
		"Tachyon": {"tid:17;app.py:<module>:19;common.py:Work.leaf:61;<GC> 11", tachyonLine, 11},
	} {
		s, ok := c.parse(c.line)
		if !ok || s.weight != c.weight || !reflect.DeepEqual(s.frames, wanted) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestStacksThatCannotBeAreFound(t *testing.T) {
	k := known{{"", "app.py:<module>"}: true, {"app.py:<module>", "common.py:leaf"}: true}
	for name, c := range map[string]struct {
		frames []frame
		want   verdict
	}{
		"right":      {wanted, right},
		"cut":        {wanted[1:], cut},
		"other call": {[]frame{wanted[0], wanted[1], wanted[0]}, wrong},
	} {
		if got, _, _ := k.judge(&stack{frames: c.frames}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestToolsTellHowManySamplesFailed(t *testing.T) {
	for name, c := range map[string]struct {
		said  string
		count func(said, text []byte) float64
		want  float64
	}{
		"py-spy":       {"Wrote raw flamegraph data to 'x'. Samples: 199 Errors: 7\n", pySpyFailed, 7},
		"austin":       {"Error rate : \x1b[1m8/180\x1b[0m (\x1b[1m4.44 %\x1b[0m) invalid samples", austinFailed, 8},
		"Tachyon":      {"Captured 2,000 samples in 2.00 seconds\nError rate: 58.50\n", tachyonFailed, 1170},
		"Tachyon: all": {"Captured 200 samples in 2.00 seconds\n", tachyonFailed, 0},
		"nothing":      {"", pySpyFailed, -1},
	} {
		if got := c.count([]byte(c.said), nil); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestARecordingHasItsPythonFrames(t *testing.T) {
	native := &pprof.Mapping{ID: 1, File: "/usr/lib/libpython3.12.so.1.0"}
	python := &pprof.Mapping{ID: 2, File: "[CPython 3.12.1]"}
	p := &pprof.Profile{PeriodType: &pprof.ValueType{}, Mapping: []*pprof.Mapping{native, python}}
	for _, name := range []string{"samples", "wall", "runqueue", "cpu"} {
		p.SampleType = append(p.SampleType, &pprof.ValueType{Type: name, Unit: "count"})
	}
	location := func(m *pprof.Mapping, name, file string, line int64) *pprof.Location {
		f := &pprof.Function{ID: uint64(len(p.Function) + 1), Name: name, Filename: file}
		l := &pprof.Location{ID: f.ID, Mapping: m, Line: []pprof.Line{{Function: f, Line: line}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		return l
	}
	loop := location(native, "_PyEval_EvalFrameDefault", "", 0)
	leaf := location(python, "Work.leaf", "/a/common.py", 61)
	main := location(python, "<module>", "/a/app.py", 19)
	freed := location(python, "[freed]", "", 0)
	p.Sample = []*pprof.Sample{
		{Location: []*pprof.Location{leaf, loop, main}, Value: []int64{2, 0, 0, 2e9}},
		{Location: []*pprof.Location{freed, loop, main}, Value: []int64{1, 0, 0, 1e9}},
		{Location: []*pprof.Location{leaf, loop, main}, Value: []int64{1, 5, 0, 0}},
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := fromPprof(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got.interpreter != 3 || got.named != 2 || len(got.stacks) != 2 || !reflect.DeepEqual(got.stacks[0].frames, wanted) {
		t.Errorf("%+v", got)
	}
}

func TestThePartOfAPieceThatIsInAWindowCounts(t *testing.T) {
	ends := []int64{1e9, 2e9, 3e9, 4e9}
	if got := rate(ends, 1.5e9, 3.75e9); got != 1 {
		t.Errorf("%v pieces a second", got)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("<module> (app.py:19);f (x.py:2) 4")
	f.Add("P1;T0:1;/a/app.py:<module>:19 6761")
	f.Add("tid:17;app.py:<module>:19;<GC> 11")
	k := known{}
	f.Fuzz(func(t *testing.T, line string) {
		for _, parse := range []func(string) (stack, bool){pySpyLine, austinLine, tachyonLine} {
			s, ok := parse(line)
			if ok && s.weight < 0 {
				t.Errorf("weight %v", s.weight)
			}
			if ok && len(s.frames) > 0 {
				_, _, _ = k.judge(&s)
				_ = lineOf(&s)
			}
		}
		for _, count := range []func(said, text []byte) float64{pySpyFailed, austinFailed, tachyonFailed} {
			if count([]byte(line), nil) < -1 {
				t.Error("fewer than none")
			}
		}
	})
}
