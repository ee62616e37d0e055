// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

const lib = "/usr/lib/python3.11/"

// The program's functions are in app.py, others in the standard library, installed packages and native files.
var pythonFiles = map[string][2]string{
	"main": {"[CPython 3.11.2]", "/srv/app.py"}, "handle": {"[CPython 3.11.2]", "/srv/app.py"},
	"load": {"[CPython 3.11.2]", "/srv/app.py"}, "key": {"[CPython 3.11.2]", "/srv/app.py"},
	"dumps": {"[CPython 3.11.2]", lib + "json/__init__.py"}, "encode": {"[CPython 3.11.2]", lib + "json/encoder.py"},
	"select":  {"[CPython 3.11.2]", "/usr/lib/python3/dist-packages/django/db/query.py"},
	"step":    {"/usr/lib/libsqlite3.so.0.8.6", ""},
	"execute": {lib + "lib-dynload/_sqlite3.cpython-311-x86_64-linux-gnu.so", ""},
	"call":    {"/usr/bin/python3.11", ""}, "memcpy": {"/lib/libc.so.6", ""}, "mark": {"/usr/bin/python3.11", ""},
	"sort": {"[Ruby 3.1.2]", ""}, "stub": {"[HotSpot 17.0.15]", ""},
	"[freed]": {"[CPython 3.11.2]", ""},
}

// python adds CPU time of one thread in a stack, innermost first: "step execute call load:7 handle main".
func (r *recording) python(at int64, ms int64, stack string) *profile.Sample {
	var locations []*profile.Location
	for _, name := range strings.Fields(stack) {
		name, line, _ := strings.Cut(name, ":")
		file := pythonFiles[name]
		l := *r.location(name, file[0])
		l.Line = slices.Clone(l.Line)
		l.Line[0].Function.Filename = file[1]
		_, _ = fmt.Sscan(line, &l.Line[0].Line)
		locations = append(locations, &l)
	}
	s := r.addStack(locations, 1, ms*1e6, 0, ms*1e6)
	labels(s, 7, 7, rec.LabelState, "running")
	s.NumLabel[rec.LabelEnd] = []int64{start + (at+ms)*1e6}
	return s
}

func (a *Application) text(d *Data) (lines []string) {
	for _, r := range a.Rows {
		line := fmt.Sprintf("%s self %d total %d", d.Table.Frames[r.Frame].Name, r.Self/1e6, r.Total/1e6)
		for _, f := range a.Folds[r.Frame] {
			line += fmt.Sprintf(", %s %d", f.Library, f.Value/1e6)
		}
		lines = append(lines, line)
	}
	for _, f := range a.Folds[Outside] {
		lines = append(lines, fmt.Sprintf("outside: %s %d", f.Library, f.Value/1e6))
	}
	return lines
}

func TestLibrariesAreFoldedIntoTheProgramsFunctions(t *testing.T) {
	r := newTimedRecording(10 * time.Second)
	r.python(0, 40, "step execute load handle main")
	r.python(40, 20, "memcpy execute call select load handle main")
	r.python(60, 10, "encode dumps handle main")
	r.python(70, 8, "memcpy handle main")
	r.python(78, 9, "handle main")
	r.python(87, 2, "memcpy sort handle main")
	r.python(89, 1, "stub handle main")
	r.python(90, 1, "encode [freed] handle main")
	r.python(91, 10, "mark")
	d := r.data(t, Options{Value: rec.TypeCPU})
	want := []string{"main self 0 total 91",
		"handle self 9 total 91, json 10, libc 8, sort 2, [CPython 3.11.2] 1, stub 1",
		"load self 0 total 60, sqlite3 40, django.db 20", "outside: python3.11 10"}
	a := d.Application()
	if got := a.text(d); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	sum := int64(0)
	for _, f := range a.Folds[Outside] {
		sum += f.Value
	}
	for _, row := range a.Rows {
		sum += row.Self
		for _, f := range a.Folds[row.Frame] {
			sum += f.Value
		}
	}
	if all := d.Total(d.ValueIndex); sum != all {
		t.Errorf("self values, folds and the rest add up to %d, not %d", sum, all)
	}
}

func TestOnlyProgramsInManagedLanguagesAreFolded(t *testing.T) {
	native, mostlyOutside, libraryOnly := newTimedRecording(1e9), newTimedRecording(1e9), newTimedRecording(1e9)
	native.add("work", 1, 1e9, 0, 1e9)
	mostlyOutside.python(0, 10, "main")
	mostlyOutside.python(10, 10, "mark")
	libraryOnly.python(0, 10, "encode dumps")
	for name, r := range map[string]*recording{"native": native, "mostly outside": mostlyOutside, "library": libraryOnly} {
		if a := r.data(t, Options{Value: rec.TypeCPU}).Application(); a != nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestAGarbageCollectorDoesNotHideTheProgramsFunctions(t *testing.T) {
	r := newTimedRecording(1e9)
	r.python(0, 10, "handle main")
	labels(r.python(10, 70, "mark"), 7, 8, rec.LabelRole, "garbage collector")
	r.python(80, 2, "mark")
	d := r.data(t, Options{Value: rec.TypeCPU})
	want := []string{"main self 0 total 10", "handle self 10 total 10", "outside: the JVM's garbage collector 70",
		"outside: python3.11 2"}
	if a := d.Application(); a == nil || !slices.Equal(a.text(d), want) {
		t.Errorf("%+v, want %q", a, want)
	}
}

func staysOf(t *testing.T, r *recording) map[string][2]int {
	t.Helper()
	d, got := r.data(t, Options{Value: rec.TypeCPU}), map[string][2]int{}
	a := d.Application()
	for _, row := range a.Rows {
		for _, f := range a.Folds[row.Frame] {
			if f.IsOften(d.Profile.Period) {
				got[d.Table.Frames[row.Frame].Name+" "+f.Library] = [2]int{f.Stays, f.Line}
			}
		}
	}
	return got
}

func TestManyShortStaysFromOneLineAreCalledOften(t *testing.T) {
	const inSQL, own = "step execute load:7 handle:12 main:20", "load:6 handle:12 main:20"
	record := func() *recording { return newTimedRecording(1e10) }
	often, long, fewCalls, sites, callback, unseen := record(), record(), record(), record(), record(), record()
	for i := range int64(30) {
		often.python(20*i, 10, inSQL)
		often.python(20*i+10, 10, own)
		for tick := range int64(5) {
			long.python(60*i+10*tick, 10, inSQL)
		}
		long.python(60*i+50, 10, own)
		fewCalls.python(20*i, 10, []string{inSQL, own}[min(1, i/10)])
		sites.python(20*i, 10, []string{inSQL, "step execute load:9 handle:12 main:20"}[i%2])
		sites.python(20*i+10, 10, own)
		unseen.python(20*i, 10, inSQL)
		unseen.python(20*i+10, 5, "mark") // as [ran between ticks]
		callback.python(20*i, 10, inSQL)
		callback.python(20*i+10, 10, "key:30 "+inSQL)
	}
	for name, c := range map[string]struct {
		r    *recording
		want map[string][2]int
	}{
		"often": {often, map[string][2]int{"load sqlite3": {30, 7}}}, "long stays": {long, map[string][2]int{}},
		"few": {fewCalls, map[string][2]int{}}, "several lines": {sites, map[string][2]int{}},
		"one stay that calls back": {callback, map[string][2]int{}}, "unseen between": {unseen, map[string][2]int{}},
	} {
		if got := staysOf(t, c.r); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestNativeLibrariesHaveShortNames(t *testing.T) {
	for module, want := range map[string]string{
		"libsqlite3.so.0.8.6": "sqlite3", "_sqlite3.cpython-311-x86_64-linux-gnu.so": "sqlite3", "libc.so.6": "libc",
		"java.util": "java.util", "python3.11": "python3.11", "": "", "lib.so": "lib", "org.apache.solr": "org.apache.solr",
	} {
		if got := nativeLibrary.ReplaceAllString(module, "$1"); got != want {
			t.Errorf("%s: %q, want %q", module, got, want)
		}
	}
}
