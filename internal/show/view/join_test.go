// SPDX-License-Identifier: Apache-2.0

package view

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

func stackOf(functions ...[2]string) *recording {
	r := newRecording(rec.TypeCPU)
	for _, f := range functions {
		r.addStack([]*profile.Location{r.location(f[0], f[1])}, 1)
	}
	return r
}

func TestCounterpartsAreFoundInRenamedFiles(t *testing.T) {
	const program, renamed = "/srv/app", "/srv/app-2"
	older := stackOf([2]string{"main", program}, [2]string{"", program}, [2]string{"read", "/lib/libc.so.6"},
		[2]string{"inflate", "/lib/libz.so.1.2"}, [2]string{"init", "/lib/liba.so.1"}, [2]string{"init", "/lib/libb.so.1"},
		[2]string{"split", "/lib/libz.so.1.2"}, [2]string{"", "/lib/libz.so.1.2"}, [2]string{"[no stack]", ""},
		[2]string{"removed", program}, [2]string{"SSL_read", "/usr/bin/node"})
	newer := stackOf([2]string{"main", renamed}, [2]string{"read", "/lib/libc.so.6"},
		[2]string{"inflate", "/lib/libz.so.1.3"}, [2]string{"init", "/lib/liba.so.2"}, [2]string{"split", "/lib/libx.so"},
		[2]string{"split", "/lib/liby.so"}, [2]string{"read", "/lib/libother.so"},
		[2]string{"SSL_read", "/lib/libnode.so.115"})
	got := Counterparts(older.data(t, Options{}), newer.data(t, Options{}))
	frame := func(name, module string) Frame { return frameOf(name, module, "") }
	nameless := func(module string) Frame { return Frame{Name: "[" + module + "]", Module: module, Nameless: true} }
	for what, c := range map[string][2]Frame{
		"the program has another name":         {frame("main", "app"), frame("main", "app-2")},
		"so have its functions without names":  {nameless("app"), nameless("app-2")},
		"and those that the later lacks":       {frame("removed", "app"), frame("removed", "app-2")},
		"a library is the same":                {frame("read", "libc.so.6"), frame("read", "libc.so.6")},
		"a library was updated":                {frame("inflate", "libz.so.1.2"), frame("inflate", "libz.so.1.3")},
		"two earlier libraries have the name":  {frame("init", "liba.so.1"), frame("init", "liba.so.1")},
		"two later libraries have the name":    {frame("split", "libz.so.1.2"), frame("split", "libz.so.1.2")},
		"a library's functions without names":  {nameless("libz.so.1.2"), nameless("libz.so.1.2")},
		"a language's library has it now":      {frame("SSL_read", "node"), frame("SSL_read", "libnode.so.115")},
		"an entry that is no code is the same": {frame("[no stack]", ""), frame("[no stack]", "")},
	} {
		if at, ok := got[c[0]]; !ok || at != c[1] {
			t.Errorf("%s: %+v, %v, want %+v", what, at, ok, c[1])
		}
	}
	if want := 11; len(got) != want {
		t.Errorf("%d frames, want the %d of the earlier recording: %v", len(got), want, got)
	}
}

func TestCounterpartsOfLinesAreOfTheSameLine(t *testing.T) {
	const program, renamed = "/srv/app", "/srv/app-2"
	at := func(file string, lines ...int64) *recording {
		r := newRecording(rec.TypeCPU)
		for _, line := range lines {
			f := &profile.Function{ID: 1, Name: "serve", Filename: "net.c"}
			r.addStack([]*profile.Location{{Mapping: r.mapping(file), Line: []profile.Line{{Function: f, Line: line}}}}, 1)
		}
		return r
	}
	lines := Options{Lines: true}
	got := Counterparts(at(program, 20, 30).data(t, lines), at(renamed, 30, 40).data(t, lines))
	frame := func(module string, line int) Frame {
		return Frame{Name: "serve", Module: module, File: "net.c", Line: line}
	}
	if want := map[Frame]Frame{frame("app", 20): frame("app-2", 20), frame("app", 30): frame("app-2", 30)}; !maps.Equal(
		got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// One value may be rounded by up to one, the sum by half a unit.
func TestJoinedValuesAddUpByFunction(t *testing.T) {
	for _, factor := range []float64{1, 0.5, 0.3, 1.75, 1e-3} {
		older, newer := newRecording(rec.TypeCPU), newRecording(rec.TypeCPU)
		sums := map[string]int64{}
		for i := range int64(101) {
			for function, v := range map[string]int64{"f": 1, "g": 3 + i%2} {
				older.add(function, v)
				sums[function] += v
			}
		}
		newer.add("f", 7)
		d := Join(older.data(t, Options{}), newer.data(t, Options{}), factor)
		now, was := map[string]int64{}, map[string]int64{}
		for _, s := range d.Profile.Sample {
			f := d.Table.Frames[d.Table.Stack(s)[0]].Name
			now[f] += s.Value[0]
			was[f] += s.Value[1]
		}
		if now["f"] != 7 || now["g"] != 0 {
			t.Errorf("× %v: new values %v", factor, now)
		}
		for f, sum := range sums {
			if exact := factor * float64(sum); math.Abs(float64(was[f])-exact) > 0.5+1e-9 {
				t.Errorf("%s × %v: %d, want %v", f, factor, was[f], exact)
			}
		}
	}
}

func TestJoinHasOneFrameForBothRecordings(t *testing.T) {
	older := stackOf([2]string{"main", "/srv/app"}, [2]string{"old", "/srv/app"})
	newer := stackOf([2]string{"main", "/srv/app-2"}, [2]string{"new", "/srv/app-2"})
	before, after := older.data(t, Options{}), newer.data(t, Options{})
	d := Join(before, after, 2)
	var types, rows []string
	for _, v := range d.Profile.SampleType {
		types = append(types, v.Type+" "+v.Unit)
	}
	if want := []string{"new nanoseconds", "old nanoseconds"}; !slices.Equal(types, want) {
		t.Errorf("types %v, want %v", types, want)
	}
	sums := map[Frame][2]int64{}
	for _, s := range d.Profile.Sample {
		f := d.Table.Frames[d.Table.Stack(s)[0]]
		sums[f] = [2]int64{sums[f][0] + s.Value[0], sums[f][1] + s.Value[1]}
		rows = append(rows, f.Name)
	}
	want := map[Frame][2]int64{{Name: "main", Module: "app-2"}: {1, 2}, {Name: "new", Module: "app-2"}: {1, 0},
		{Name: "old", Module: "app-2"}: {0, 2}}
	if len(rows) != 4 || len(sums) != len(want) {
		t.Errorf("%v", sums)
	}
	for f, v := range want {
		if sums[f] != v {
			t.Errorf("%+v: %v, want %v", f, sums[f], v)
		}
	}
	if len(before.Profile.Sample) != 2 || len(after.Profile.Sample) != 2 || len(after.Table.Frames) != 2 {
		t.Error("the recordings were changed")
	}
}
