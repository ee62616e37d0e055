// SPDX-License-Identifier: Apache-2.0

package view

import (
	"math"
	"reflect"
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// recursive has work called by itself and by serve, other called by serve, and poll only asleep.
func recursive() *recording {
	r := newRecording(rec.TypeCPU, rec.TypeWall)
	work, serve, other := r.location("work", "/srv/app"), r.location("serve", "/srv/app"), r.location("other",
		"/srv/app")
	r.addStack([]*profile.Location{work, work, serve}, 60, 60)
	r.addStack([]*profile.Location{work, serve}, 10, 10)
	r.addStack([]*profile.Location{other, serve}, 30, 40)
	r.addStack([]*profile.Location{r.location("poll", "/srv/app"), serve}, 0, 500)
	return r
}

func (d *Data) rowsByName(rows []Row) (names []string, self, total []int64) {
	for _, r := range rows {
		names = append(names, d.Table.Frames[r.Frame].Name)
		self, total = append(self, r.Self), append(total, r.Total)
	}
	return names, self, total
}

func TestAFunctionsTotalCountsARecursionOnce(t *testing.T) {
	for _, c := range []struct {
		o           Options
		names       []string
		self, total []int64
	}{
		{Options{}, []string{"work", "other", "serve"}, []int64{70, 30, 0}, []int64{70, 30, 100}},
		{Options{Sort: "total"}, []string{"serve", "work", "other"}, []int64{0, 70, 30}, []int64{100, 70, 30}},
		{Options{Value: rec.TypeWall}, []string{"poll", "work", "other", "serve"}, []int64{500, 70, 40, 0},
			[]int64{500, 70, 40, 610}},
	} {
		c.o.Value = orCPU(c.o.Value)
		d := recursive().data(t, c.o)
		names, self, total := d.rowsByName(d.Rows(d.Profile.Sample))
		if !reflect.DeepEqual(names, c.names) || !reflect.DeepEqual(self, c.self) || !reflect.DeepEqual(total, c.total) {
			t.Errorf("%+v: %v, self %v, total %v; want %v, %v, %v", c.o, names, self, total, c.names, c.self, c.total)
		}
	}
}

func orCPU(value string) string {
	if value == "" {
		return rec.TypeCPU
	}
	return value
}

func TestSumsOfFunctionsHaveAllTypesAndFunctionsWithoutTheChosenValue(t *testing.T) {
	d := recursive().data(t, Options{Value: rec.TypeCPU})
	rows, sums, taken := d.SumFunctions(d.Profile.Sample)
	names, _, _ := d.rowsByName(rows)
	if want := []string{"work", "other", "serve", "poll"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	want := map[string]FunctionSums{"work": {[]int64{70, 70}, []int64{70, 70}}, "other": {[]int64{30, 40}, []int64{30,
		40}},
		"serve": {[]int64{0, 0}, []int64{100, 610}}, "poll": {[]int64{0, 500}, []int64{0, 500}}}
	for f, got := range sums {
		if name := d.Table.Frames[f].Name; !reflect.DeepEqual(*got, want[name]) {
			t.Errorf("%s: %v, want %v", name, *got, want[name])
		}
	}
	if taken != 4*(256+16*2) || len(sums) != 4 {
		t.Errorf("%d functions, %d bytes; want 4, %d", len(sums), taken, 4*(256+16*2))
	}
	if got, want := d.Sums(d.Profile.Sample), []int64{100, 610}; !reflect.DeepEqual(got, want) {
		t.Errorf("sums %v, want %v", got, want)
	}
}

func TestFunctionsAreOrderedByWhatTheReaderCanChange(t *testing.T) {
	const python = "[CPython 3.11.7]"
	r := newRecording(rec.TypeWall)
	lib, own := r.location("__poll", "/lib/libc.so.6"), r.location("serve", python)
	outer := r.location("main_loop", python)
	for _, l := range []*profile.Location{own, outer} {
		l.Line[0].Function.Filename = "/srv/app.py"
	}
	r.addStack([]*profile.Location{lib, own, outer}, 950)
	r.addStack([]*profile.Location{r.location("rare", python)}, 50)
	r.location("rare", python).Line[0].Function.Filename = "/srv/app.py"
	for _, s := range r.Sample {
		labels(s, 1, 1, rec.LabelState, "sleeping", rec.LabelWait, "poll")
	}
	for _, c := range []struct {
		o     Options
		names []string
	}{
		// its own, inner ones first; then the library's and small ones
		{Options{By: "wait"}, []string{"serve", "main_loop", "__poll", "rare"}},
		{Options{By: "wait", Sort: "self"}, []string{"__poll", "rare", "serve", "main_loop"}},
		{Options{By: "wait", Sort: "total"}, []string{"__poll", "serve", "main_loop", "rare"}},
		{Options{}, []string{"__poll", "rare", "serve", "main_loop"}},
	} {
		c.o.NoIdle = true
		d := r.data(t, c.o)
		if names, _, _ := d.rowsByName(d.Rows(d.Profile.Sample)); !reflect.DeepEqual(names, c.names) {
			t.Errorf("%+v: %v, want %v", c.o, names, c.names)
		}
	}
}

func TestNumberOfRows(t *testing.T) {
	for n, want := range map[int]int{0: 30, 7: 7, -1: math.MaxInt, 40: 40} {
		if got := (&Selection{Options: Options{N: n}}).Limit(30); got != want {
			t.Errorf("-n %d: %d, want %d", n, got, want)
		}
	}
}

func TestColumnsOfFunctions(t *testing.T) {
	d := recursive().data(t, Options{Value: rec.TypeCPU})
	rows := d.Rows(d.Profile.Sample)
	for _, c := range []struct {
		value int
		heads string
		cells [][2]string
	}{
		{0, " self%  total% ", [][2]string{{"70.00%", "  70.00% "}, {"30.00%", "  30.00% "}, {" 0%   ", " 100%    "}}},
		{8, " self%     self   total%    total  ", [][2]string{{"70.00%", "     70ns   70.00%     70ns  "},
			{"30.00%", "     30ns   30.00%     30ns  "}, {" 0%   ", "       0s  100%       100ns  "}}},
	} {
		heads, cells := d.ValueColumns(rows, 6, c.value)
		if heads != c.heads || !reflect.DeepEqual(cells, c.cells) {
			t.Errorf("%q, %q; want %q, %q", heads, cells, c.heads, c.cells)
		}
	}
	for _, c := range []struct {
		width, used int
		head        string
		cells       []string
	}{
		{0, 0, "function (cpu)  module", []string{"work            app", "other           app", "serve           app"}},
		{24, 4, "function (cpu)", []string{"work", "other", "serve"}},
	} {
		head, cells := d.NameColumns(c.width, c.used, 10, d.FramesOf(rows), d.FramesOf(rows))
		if head != c.head || !reflect.DeepEqual(cells, c.cells) {
			t.Errorf("%d columns: %q, %q; want %q, %q", c.width, head, cells, c.head, c.cells)
		}
	}
}
