// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/perfscript"
	"prywalk/benchmarks/recordings"
	"prywalk/internal/testtargets"
)

func stack(names ...string) []*profile.Location {
	var locs []*profile.Location
	for _, name := range names {
		l := &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}}
		if !strings.HasPrefix(name, "[") {
			l.Address, l.Mapping = 0x1000, &profile.Mapping{Start: 0x1000, File: "[anon]"}
		}
		locs = append(locs, l)
	}
	return locs
}

func made() *recording {
	running := map[string][]string{"state": {"running"}}
	return &recording{Profile: &profile.Profile{Sample: []*profile.Sample{
		{Value: []int64{1, 50, 10, 40}, Label: running, Location: stack("f", "main"),
			NumLabel: map[string][]int64{"end_timestamp_ns": {1000}}},
		{Value: []int64{2, 60, 0, 60}, Label: running, Location: stack("g", "[incomplete: no-rule]"),
			NumLabel: map[string][]int64{"end_timestamp_ns": {900}}},
		{Value: []int64{7, 100, 0, 0}, Label: map[string][]string{"state": {"sleeping"}}, Location: stack("poll", "main"),
			NumLabel: map[string][]int64{"end_timestamp_ns": {2000}}},
		{Value: []int64{0, 5, 0, 5}, Label: running, Location: stack("[ran between ticks]", "poll", "main")},
	}}}
}

func TestCompletenessCountsSamplesAndTime(t *testing.T) {
	c := completeness(made())
	if c.Samples != 10 || c.Whole != 8 || c.Running != 3 || c.RunningWhole != 1 {
		t.Errorf("%+v", c)
	}
	if c.CPU != 0.4 || c.Stops["no-rule"] != 2 || c.StopsCPU["no-rule"] != 60 {
		t.Errorf("of time: %+v", c)
	}
	if c.Low > 0.8 || c.High < 0.8 || c.Low <= 0 || c.High >= 1 {
		t.Errorf("interval %v to %v", c.Low, c.High)
	}
}

func TestStacksOfAnEarlierRunAreKept(t *testing.T) {
	dir := t.TempDir()
	s := &settings{JSON: filepath.Join(dir, "f.json"), Page: filepath.Join(dir, "f.md"), Completeness: true}
	empty := markdown.EmptySection(stacksName) + markdown.EmptySection(sectionName)
	if err := os.WriteFile(s.Page, []byte(empty), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &figures{}
	f.addStacks(stackRow{Name: "redis", Complete: completeness(made()), Load: 3})
	f.addStacks(stackRow{Name: "c", Error: "line one\nline two"})
	if err := f.write(s); err != nil {
		t.Fatal(err)
	}
	f, err := loadFigures(s.JSON)
	if err != nil {
		t.Fatal(err)
	}
	f.addStacks(stackRow{Name: "c", Complete: completeness(made()), Load: 1})
	text := f.stacksMarkdown()
	for _, want := range []string{"| c | ", "| redis | ", "was 1.0 to 3.0", "| c | 2 | no-rule | ", "8 of 10 = 80.00 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	page, _ := os.ReadFile(s.Page)
	if head, ok := strings.CutSuffix(string(page), markdown.EmptySection(sectionName)); !ok ||
		!strings.Contains(head, "- c: line one line two") {
		t.Errorf("%s", page)
	}
}

func TestTheFirstSampleIsTheEarliestBeginning(t *testing.T) {
	if got := firstLook(made()); got.UnixNano() != 840 {
		t.Errorf("%d", got.UnixNano())
	}
}

func TestMeterTellsTheTimeBetweenReadings(t *testing.T) {
	at := time.Unix(100, 0)
	m := &meter{
		times:    []time.Time{at, at.Add(10 * time.Millisecond)},
		accounts: []account{{clock: time.Second}, {clock: time.Second + 8*time.Millisecond}},
	}
	for offset, want := range map[time.Duration]time.Duration{-time.Second: 0, 0: 0,
		5 * time.Millisecond: 4 * time.Millisecond, time.Second: 8 * time.Millisecond} {
		if got := m.at(at.Add(offset)).clock - time.Second; got != want {
			t.Errorf("after %v: %v, want %v", offset, got, want)
		}
	}
}

func TestMeterReadsTheKernelsThreeClocks(t *testing.T) {
	m := startMeter([]int{os.Getpid()})
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		math.Sqrt(2)
	}
	m.finish()
	a := m.accounts[len(m.accounts)-1]
	if a.clock <= 0 || a.sched <= 0 || a.ticks < 0 {
		t.Errorf("%+v", a)
	}
	if d := a.clock - a.ticks; d < -time.Second || d > time.Second {
		t.Errorf("process clock %v, utime + stime %v", a.clock, a.ticks)
	}
}

func TestRawTotalSumsAColumn(t *testing.T) {
	text := "PeriodType: cpu nanoseconds\nSamples:\nsamples/count wall/nanoseconds runqueue/nanoseconds " +
		"cpu/nanoseconds[dflt]\n" +
		"          1          4          2          7: 1 2 \n                comm:[a] state:[running]\n" +
		"          1          4          2         35: 1 2 \n                end_timestamp_ns:[99 nanoseconds] " +
		"pid:[20181]\nLocations\n     1: 0x1 2 3 4: \n"
	if got := rawTotal(text, recordings.CPUColumn); got != 42 {
		t.Error(got)
	}
}

func TestNamesThatMeanTheSame(t *testing.T) {
	for _, c := range [][2]string{
		{"foo", "foo.constprop.0"}, {"JS:*f /x.js:1:2", "JS:^f /x.js:1:2"}, {"memcpy", "__memcpy@@GLIBC_2.14"},
		{"ns::f<int>", "ns::f"}, {"ns::f(int)", "ns::f"}, {"[libz.so.1]", "[unknown]"}, {"f.cold", "f"},
		{"write", "__GI___libc_write"}, {"runtime.futex", "runtime.futex.abi0"},
	} {
		if !sameName(c[0], c[1]) {
			t.Errorf("%q and %q are taken for different", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{"read", "write"}, {"JS:*f /x.js:1:2", "JS:*g /x.js:1:2"}, {"a::f", "b::f"}} {
		if sameName(c[0], c[1]) {
			t.Errorf("%q and %q are taken for the same", c[0], c[1])
		}
	}
}

func TestBothToolsAddressesLeadToTheSameFunction(t *testing.T) {
	p := newPlaces(&testtargets.Target{})
	ours := &profile.Sample{Location: stack("JS:*burn /x.js:1:2")}
	theirs := &perfscript.Sample{Frames: []perfscript.Frame{
		{Addr: 1 << 63, Name: "schedule", File: "[kernel.kallsyms]"}, {Addr: 0x1000, Name: "JS:^burn /x.js:1:2",
			File: "/tmp/perf-9.map"},
	}}
	if a, b := p.ofRecording(ours), p.ofPerf(theirs); a != b || a != "JS:burn /x.js:1:2" {
		t.Errorf("%q and %q", a, b)
	}
	libc := "/lib/x86_64-linux-gnu/libc.so.6"
	if _, err := os.Stat(libc); err != nil {
		return
	}
	table := p.inFile(libc, 0x27249)
	l := stack("x")
	l[0].Mapping = &profile.Mapping{Start: 0x7f0000026000, Offset: 0x26000, File: libc}
	l[0].Address = 0x7f0000027249
	if got := p.ofRecording(&profile.Sample{Location: l}); got != table || !strings.HasSuffix(got, "(libc.so.6)") {
		t.Errorf("%q and %q", got, table)
	}
}

func TestAgreementIsFoundAndMissed(t *testing.T) {
	same, other := newTally(10), newTally(10)
	for i := range 10 {
		for k := range 200 {
			name := []string{"f", "f", "g"}[k%3]
			same.add(i, name, name, 1)
			name = []string{"f", "g", "g"}[k%3]
			other.add(i, name, name, 1)
		}
	}
	f := &figures{Programs: []program{
		{Name: "c", Agreement: compareTallies(same, same)}, {Name: "cpp", Agreement: compareTallies(same, other)},
	}}
	f.judge()
	if f.Test == nil || f.Test.Tests != 4 || f.Test.Differ != 2 {
		t.Fatalf("%+v", f.Test)
	}
	for _, p := range f.Programs {
		for _, x := range p.Agreement.Functions {
			if x.Differs != (p.Name == "cpp") {
				t.Errorf("%s: %+v", p.Name, x)
			}
		}
	}
}

func TestFiguresOfAnEarlierRunAreKept(t *testing.T) {
	dir := t.TempDir()
	s := &settings{JSON: filepath.Join(dir, "f.json"), Page: filepath.Join(dir, "f.md")}
	f, err := loadFigures(s.JSON)
	if err != nil {
		t.Fatal(err)
	}
	r := made()
	for _, name := range []string{"redis", "c"} {
		f.add(result{program: &program{Name: name, Complete: completeness(r), CPU: &cpuSum{ProfileS: 1, ClockS: 1,
			Threads: 1}, Viewers: &viewers{}}})
	}
	if err := f.write(s); err != nil {
		t.Fatal(err)
	}
	if f, err = loadFigures(s.JSON); err != nil {
		t.Fatal(err)
	}
	f.add(result{program: &program{Name: "c", Error: "line one\nline two"}})
	f.add(result{startup: []timing{{What: "JVM", Seconds: []float64{0.01}}}})
	if len(f.Programs) != 2 || f.Programs[0].Name != "c" || f.find("redis").Complete == nil || len(f.Startup) != 1 {
		t.Errorf("%+v", f)
	}
	if text := f.markdown(); !strings.Contains(text, "| redis |") || !strings.Contains(text, "- c: line one line two") {
		t.Error(text)
	}
	if first, again := f.markdown(), f.markdown(); first != again {
		t.Error("the page is not the same twice")
	}
}

func TestPageThatIsMissingIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	for _, text := range []string{"old\n", "new\n"} {
		if err := putTables(path, sectionName, text); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(path)
	if s := string(got); !strings.Contains(s, "\nnew\n") || strings.Contains(s, "old") {
		t.Errorf("%q", s)
	}
	if err := os.WriteFile(path, []byte("no markers"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := putTables(path, sectionName, "new\n"); err == nil {
		t.Error("a page without markers was changed")
	}
}

func TestCommandLine(t *testing.T) {
	if _, err := parse([]string{"-only", "nosuch"}); err == nil {
		t.Error("an unknown name was taken")
	}
	for _, args := range [][]string{{"-d", "0s"}, {"-pairs", "1"}, {"-runs", "0"}, {"-slice", "-1s"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
	if s, err := parse([]string{"-completeness", "-only", "chromium,c-O0"}); err != nil || len(s.Only) != 2 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := parse(nil); err != nil || len(s.Only) != len(testtargets.Names())+2 {
		t.Errorf("%+v %v", s, err)
	}
}
