// SPDX-License-Identifier: Apache-2.0

package top

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets/bounded"
	"prywalk/report"
)

func (f *fixture) reported(value string) (out struct {
	Total     jsonValues     `json:"total"`
	Functions []jsonFunction `json:"functions"`
	Groups    []jsonGroup    `json:"groups"`
}) {
	f.t.Helper()
	var file, text bytes.Buffer
	if err := f.builder.Write(&file, f); err != nil {
		f.t.Fatal(err)
	}
	p, err := profile.Read(&file)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := report.JSON(&text, p, false, report.Options{Value: value, By: "wait"}); err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &out); err != nil {
		f.t.Fatal(err)
	}
	return out
}

type functionRow struct {
	view.Frame
	Self, Total jsonValues
}

func (snap *Snapshot) functions() (rows []functionRow) {
	d := snap.by(CPU)
	list, sums, _ := d.SumFunctions(d.Profile.Sample)
	for _, r := range list {
		of := sums[r.Frame]
		rows = append(rows, functionRow{d.Table.Frames[r.Frame], valuesOf(of.Self), valuesOf(of.Total)})
	}
	return rows
}

func TestTheLastTableIsThatOfReport(t *testing.T) {
	for seed := range uint64(20) {
		f := newFixture(t)
		f.random(rand.New(rand.NewPCG(seed, 1)), 8)
		snap := f.snapshot(0)
		want := f.reported("cpu")
		if got := valuesOf(snap.data.Sums(snap.data.Profile.Sample)); got != want.Total {
			t.Fatalf("seed %d: %+v, report has %+v", seed, got, want.Total)
		}
		rows := map[string]functionRow{}
		for _, r := range snap.functions() {
			rows[r.Name+" "+r.Module] = r
		}
		for _, w := range want.Functions {
			r := rows[w.Name+" "+w.Module]
			if r.Self != w.Self || r.Total != w.Total {
				t.Errorf("seed %d, %s: self %+v total %+v, report has %+v and %+v", seed, w.Name, r.Self, r.Total, w.Self, w.Total)
			}
		}
		if len(rows) != len(want.Functions) {
			t.Errorf("seed %d: %d functions, report has %d", seed, len(rows), len(want.Functions))
		}
		waits := map[string]jsonValues{}
		for _, r := range snap.groups(Wall, "wait") {
			waits[r.group.Name] = valuesOf(snap.data.Sums(r.group.Samples))
		}
		for _, g := range want.Groups {
			if waits[g.Name] != g.Total {
				t.Errorf("seed %d, wait %s: %+v, report has %+v", seed, g.Name, waits[g.Name], g.Total)
			}
		}
	}
}

func TestWindowsHaveTheirOwnTimeOnly(t *testing.T) {
	f := newFixture(t)
	f.busy(30)
	for _, seconds := range []int64{2, 10, 30} {
		snap := f.snapshot(time.Duration(seconds) * time.Second)
		if snap.Length != time.Duration(seconds)*time.Second {
			t.Errorf("%d s: %s", seconds, snap.Length)
		}
		v := snap.total()
		if v.CPU != seconds*788e6 {
			t.Errorf("%d s: cpu %d", seconds, v.CPU)
		}
		for _, r := range snap.groups(Wall, "thread") {
			if r.name() == "worker-115 (tid 115)" && r.group.Value != seconds*1e9 {
				t.Errorf("%d s: a sleeper has %d ns", seconds, r.group.Value)
			}
		}
	}
}

func TestDaysTakeBoundedMemory(t *testing.T) {
	f := newFixture(t)
	f.store.maxCells = 1000
	stacks := []sample.StackID{f.at("compress", "main"), f.at("checksum", "main"), f.at("tick", "main")}
	var cpu int64
	most := 0
	for s := range 300 {
		for i := range 50 {
			iv := f.ran(1000+100*s+i, stacks[i%3], 10)
			cpu += iv.CPU
			iv.End = f.now.UnixNano()
			f.store.Add(iv)
		}
		f.refresh()
		most = max(most, len(f.store.cells))
	}
	used := 0
	for _, sl := range f.store.timeSlices {
		used += len(sl.deltas)
	}
	if most > 2*(used+1000) || len(f.store.threads) > most {
		t.Errorf("up to %d cells, %d threads; the slices have %d", most, len(f.store.threads), used)
	}
	snap := f.snapshot(0)
	if got := snap.total().CPU; got != cpu {
		t.Errorf("cpu %d, want %d", got, cpu)
	}
	for _, r := range snap.functions() {
		if r.Name == "main" && r.Total.CPU != cpu {
			t.Errorf("main has %d of %d", r.Total.CPU, cpu)
		}
	}
}

func TestStacksBeyondTheBoundAreAddedUpWithoutNames(t *testing.T) {
	f := newFixture(t)
	f.store.maxCells = 100
	var cpu int64
	for s := range 300 {
		for i := range 10 {
			m := f.app
			iv := f.ran(101, f.builder.Intern([]profile.Loc{{Module: m, Addr: m.Start + uint64(10*s+i)}}), 10)
			cpu += iv.CPU
			f.add(iv)
		}
		f.refresh()
	}
	snap := f.snapshot(0)
	if got := snap.total().CPU; got != cpu || len(f.store.cells) > 2*(100+10*len(f.store.timeSlices)) {
		t.Errorf("cpu %d of %d in %d cells", got, cpu, len(f.store.cells))
	}
	found := false
	for _, r := range snap.functions() {
		found = found || r.Name == evictedName && r.Self.CPU > 0
	}
	if !found {
		t.Error("nothing is said of what was added up")
	}
}

func TestSlowNamesHoldNothingUp(t *testing.T) {
	f := newFixture(t)
	goOn, quit, described := make(chan struct{}), make(chan struct{}), make(chan struct{}, 100)
	f.onNames = func() { described <- struct{}{} }
	resolve := f.resolve
	f.resolve = func(m *profile.ModuleInfo, addr uint64) []profile.Frame {
		bounded.Received(goOn)
		return resolve(m, addr)
	}
	go f.names.Run(f, quit)
	defer close(quit)
	f.busy(1)
	snap := f.store.Snapshot(f.of, 0)
	rows := snap.functions()
	if snap.PendingNames == 0 || rows[0].Name != "[app]" || !rows[0].Nameless {
		t.Errorf("%d to come, first %+v", snap.PendingNames, rows[0])
	}
	close(goOn)
	for snap.PendingNames > 0 {
		bounded.Receive(t, "further names are described", described)
		snap = f.store.Snapshot(f.of, 0)
	}
	rows = snap.functions()
	if rows[0].Name != "compress" || rows[0].Nameless {
		t.Errorf("first %+v", rows[0])
	}
}

func TestCodeMadeAtRunTimeIsAskedForAgain(t *testing.T) {
	f := newFixture(t)
	jit := &profile.ModuleInfo{Start: 0x1000, End: 0x2000, Path: "[anon]", Owner: 7}
	known := false
	f.resolve = func(*profile.ModuleInfo, uint64) []profile.Frame {
		if known {
			return []profile.Frame{{Name: "compiled"}}
		}
		return []profile.Frame{{Name: "[anon]"}}
	}
	f.add(f.ran(101, f.builder.Intern([]profile.Loc{{Module: jit, Addr: 0x1100}}), 100))
	f.refresh()
	if r := f.snapshot(0).functions(); r[0].Name != "[anon]" || !r[0].Nameless {
		t.Fatalf("%+v", r)
	}
	known = true
	f.names.NameSomeGenerated(f)
	if r := f.snapshot(0).functions(); r[0].Name != "compiled" {
		t.Errorf("%+v: not by who knows its own names", r)
	}
	known = false
	f.add(f.ran(101, f.builder.Intern([]profile.Loc{{Module: jit, Addr: 0x1200}}), 500))
	f.refresh()
	f.snapshot(0)
	known = true
	for range 5 {
		f.refresh()
	}
	if snap := f.snapshot(0); fmt.Sprint(len(snap.functions())) != "1" {
		t.Errorf("%+v: not after some seconds", snap.functions())
	}
}

func TestManagedFramesStandForTheMachineryThatRunsThem(t *testing.T) {
	f := newFixture(t)
	vm := &profile.ModuleInfo{Path: "[Toy 1.0]"}
	described := f.builder.InternFrames([]profile.Frame{{Name: "inner"}, {Name: "outer"}})
	loop := profile.Loc{Module: f.app, Addr: f.app.Start, Machinery: true}
	f.add(f.ran(101, f.builder.Intern([]profile.Loc{loop, {Module: vm, FramesID: described}, loop,
		{Module: f.app, Addr: f.app.Start + 0x10}}), 100))
	f.add(f.ran(102, f.builder.Intern([]profile.Loc{loop}), 50))
	f.refresh()
	f.store.Finish(f.now)
	snap := f.snapshot(0)
	rows := map[string]functionRow{}
	for _, r := range snap.functions() {
		rows[r.Name+" "+r.Module] = r
	}
	want := f.reported("cpu")
	for _, w := range want.Functions {
		if r := rows[w.Name+" "+w.Module]; r.Self != w.Self || r.Total != w.Total {
			t.Errorf("%s %s: %+v, report has %+v", w.Name, w.Module, r, w)
		}
	}
	if len(rows) != len(want.Functions) || rows["inner [Toy 1.0]"].Self.CPU != 100e6 {
		t.Errorf("%+v, report has %+v", rows, want.Functions)
	}
}

func TestPackagesAndBoundedFunctionsAreThoseOfReport(t *testing.T) {
	f := newFixture(t)
	f.resolve = func(*profile.ModuleInfo, uint64) []profile.Frame { return []profile.Frame{{Name: "app+0x1f0"}} }
	python := &profile.ModuleInfo{Path: "[CPython 3.12.1]"}
	described := f.builder.InternFrames([]profile.Frame{
		{Name: "Flask.dispatch", File: "/usr/lib/python3/site-packages/flask/app.py"},
		{Name: "<module>", File: "/srv/shop.py"}})
	bounded := profile.Loc{Module: f.app, Addr: f.app.Start}
	f.add(f.ran(101, f.builder.Intern([]profile.Loc{bounded, {Module: python, FramesID: described}}), 100))
	f.refresh()
	f.store.Finish(f.now)
	want := map[string]bool{}
	for _, w := range f.reported("cpu").Functions {
		want[w.Name+" "+w.Module] = true
	}
	for _, r := range f.snapshot(0).functions() {
		if name := r.Name + " " + r.Module; !want[name] || r.Nameless != (r.Name == "app+0x1f0") {
			t.Errorf("%s (nameless: %v), report has %v", name, r.Nameless, want)
		}
	}
}

func TestTimeWithoutAThreadIsApartByName(t *testing.T) {
	f := newFixture(t)
	for name, ms := range map[string]int64{"[children: cc1]": 300, "[children: as]": 200, "[exited]": 100} {
		iv := f.ran(0, f.at("main"), ms)
		iv.Thread = name
		f.add(iv)
	}
	f.refresh()
	got := map[string]time.Duration{}
	for _, row := range f.snapshot(0).groups(CPU, "thread") {
		got[row.name()] += time.Duration(row.clocks.CPU)
	}
	for name, ms := range map[string]int64{"[children: cc1]": 300, "[children: as]": 200, "[exited]": 100} {
		if got[name+" app (pid 7)"] != time.Duration(ms)*time.Millisecond {
			t.Errorf("%s: want %d ms; rows %v", name, ms, got)
		}
	}
}

func TestWaitsAreBounded(t *testing.T) {
	f := newFixture(t)
	const n = 3 * maxWaits
	for i := range n {
		iv := f.slept(101, f.at("main"), "futex", 10)
		iv.WaitsFor = fmt.Sprintf("mutex %#x", 4096*i)
		f.add(iv)
	}
	for i := range 3 {
		iv := f.slept(101, f.at("main"), "read", 0)
		iv.WaitsFor = fmt.Sprintf("socket:[%d] 10.0.0.1:80", i)
		f.add(iv)
	}
	f.refresh()
	if len(f.store.waits) > maxWaits+2 {
		t.Errorf("%d waits, want at most %d", len(f.store.waits), maxWaits+2)
	}
	total, rest := int64(0), int64(0)
	for _, row := range f.snapshot(0).groups(Wall, "wait") {
		total += row.group.Value
		if row.name() == "futex: mutex in main" {
			rest = row.group.Value
		}
	}
	if total != n*10e6 || rest != (n-maxWaits)*10e6 {
		t.Errorf("%d ns in all, %d of waits without a name of their own; want %d, %d", total, rest, int64(n*10e6),
			int64((n-maxWaits)*10e6))
	}
}
