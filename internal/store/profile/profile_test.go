// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/host/outfile"
	"prywalk/internal/testtargets/bounded"
)

var (
	testMain = &ModuleInfo{Start: 0x400000, End: 0x500000, Bias: 0x300000, Path: "/usr/bin/app", BuildID: "abcd"}
	testLib  = &ModuleInfo{Start: 0x7f0000000000, End: 0x7f0000100000, FileOffset: 0x1000, Bias: 0x7f0000000000,
		Path: "/lib/libfoo.so", BuildID: "1234"}
)

type testNames map[uint64][]Frame

// hookedNames calls a function before each name.
type hookedNames func()

func (f hookedNames) Resolve(m *ModuleInfo, addr uint64) []Frame {
	f()
	return names.Resolve(m, addr)
}

func (n testNames) Resolve(m *ModuleInfo, addr uint64) []Frame { return n[addr] }

var names = testNames{
	0x100010: {{Name: "main", File: "/src/app.c", Line: 10, StartLine: 5}},
	0x100020: {
		{Name: "inner(int)", System: "_Z5inneri", File: "/src/app.h", Line: 3, StartLine: 1, Inlined: true},
		{Name: "work", File: "/src/app.c", Line: 21, StartLine: 20},
	},
}

func testBuilder(aggregate bool) *Builder {
	b := NewBuilder(Meta{Start: time.Unix(1000, 0), Period: 10 * time.Millisecond, Aggregate: aggregate})
	lib := *testLib
	busy := b.Intern([]Loc{{Module: testMain, Addr: 0x400020}, {Module: testMain, Addr: 0x400010}})
	idle := b.Intern([]Loc{{Module: testLib, Addr: 0x7f0000000500}, {Module: &lib, Addr: 0x7f0000000600},
		{Synthetic: "[incomplete: no-rule]"}})
	for i := range 10 {
		end := time.Unix(1000, int64(i+1)*1e7).UnixNano()
		b.Add(Interval{Stack: busy, PID: 7, TID: 8, Comm: "app", Thread: "worker", State: "running", End: end, Samples: 1,
			Wall: 1e7, RunQueue: 1e6, CPU: 9e6})
		b.Add(Interval{Stack: idle, PID: 7, TID: 7, Comm: "app", Thread: "app", State: "sleeping", Wait: "futex", End: end,
			Samples: 1, Wall: 1e7})
	}
	b.Update(func(m *Meta) { m.Main = testMain })
	b.SetWindow(time.Unix(1000, 0), time.Unix(1002, 0))
	b.Update(func(m *Meta) { m.Comments = []string{"attempted 20 = stopped 10 + read passively 10"} })
	return b
}

func roundTrip(t *testing.T, b *Builder) *pprof.Profile {
	t.Helper()
	var buf bytes.Buffer
	if err := b.Write(&buf, names); err != nil {
		t.Fatal(err)
	}
	p, err := Read(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestALoweredRateIsThePeriod(t *testing.T) {
	b := testBuilder(false)
	b.Update(func(m *Meta) { m.Period = time.Second / 7 })
	if p := roundTrip(t, b); p.Period != 142_857_142 {
		t.Errorf("period %d ns", p.Period)
	}
}

func TestRecordingHoldsWhatTheContractSays(t *testing.T) {
	p := roundTrip(t, testBuilder(false))
	var types []string
	for _, s := range p.SampleType {
		types = append(types, s.Type+"/"+s.Unit)
	}
	equal(t, "types", strings.Join(types, " "), "samples/count wall/nanoseconds runqueue/nanoseconds cpu/nanoseconds")
	equal(t, "default", p.DefaultSampleType, "cpu")
	equal(t, "period", fmt.Sprint(p.PeriodType.Type, p.PeriodType.Unit, p.Period), "cpunanoseconds10000000")
	equal(t, "time", fmt.Sprint(p.TimeNanos, p.DurationNanos), fmt.Sprint(int64(1000e9), int64(2e9)))
	equal(t, "comment", strings.Join(p.Comments, "|"), "attempted 20 = stopped 10 + read passively 10")
	equal(t, "main", p.Mapping[0].File+p.Mapping[0].BuildID, "/usr/bin/appabcd")
	equal(t, "mappings", len(p.Mapping), 2)
	equal(t, "named", fmt.Sprint(p.Mapping[0].HasFunctions, p.Mapping[1].HasFunctions), "true false")
	equal(t, "samples", len(p.Sample), 20)
	busy := p.Sample[0]
	equal(t, "values", fmt.Sprint(busy.Value), "[1 10000000 1000000 9000000]")
	equal(t, "labels", fmt.Sprint(busy.Label), "map[comm:[app] state:[running] thread:[worker]]")
	equal(t, "numbers", fmt.Sprint(busy.NumLabel), "map[end_timestamp_ns:[1000010000000] pid:[7] tid:[8]]")
	equal(t, "unit", busy.NumUnit["end_timestamp_ns"][0], "nanoseconds")
	l := busy.Location[0]
	equal(t, "inline", l.Line[0].Function.Name+" in "+l.Line[1].Function.Name, "inner(int) in work")
	equal(t, "system", l.Line[0].Function.SystemName, "_Z5inneri")
	equal(t, "lines", fmt.Sprint(l.Line[0].Line, l.Line[0].Function.StartLine, l.Address == 0x400020), "3 1 true")
	idle := p.Sample[1]
	equal(t, "unknown function", len(idle.Location[0].Line), 0)
	equal(t, "mapping of unknown", idle.Location[0].Mapping.File, "/lib/libfoo.so")
	last := idle.Location[2]
	equal(t, "synthetic", fmt.Sprint(last.Line[0].Function.Name, last.Address, last.Mapping == nil),
		"[incomplete: no-rule]0 true")
	equal(t, "wait", idle.Label["wait"][0], "futex")
}

func TestAggregatedTotalsEqualTheTimedOnes(t *testing.T) {
	timed, sum := roundTrip(t, testBuilder(false)), roundTrip(t, testBuilder(true))
	equal(t, "samples", len(sum.Sample), 2)
	for _, s := range sum.Sample {
		if s.NumLabel[LabelEnd] != nil {
			t.Error("an aggregated sample has a time")
		}
	}
	for i := range timed.SampleType {
		equal(t, timed.SampleType[i].Type, total(sum, i), total(timed, i))
	}
}

func total(p *pprof.Profile, i int) (n int64) {
	for _, s := range p.Sample {
		n += s.Value[i]
	}
	return n
}

func TestEmptyRecordingIsValid(t *testing.T) {
	p := roundTrip(t, NewBuilder(Meta{Start: time.Unix(1, 0), Main: testMain}))
	equal(t, "samples", len(p.Sample), 0)
	equal(t, "main", p.Mapping[0].File, "/usr/bin/app")
}

func TestEmptyStackGetsALocation(t *testing.T) {
	b := NewBuilder(Meta{})
	b.Add(Interval{Stack: b.Intern(nil), CPU: 5})
	p := roundTrip(t, b)
	equal(t, "name", p.Sample[0].Location[0].Line[0].Function.Name, "[no stack]")
}

func TestCodeOfOneProcessIsItsOwnModule(t *testing.T) {
	b := NewBuilder(Meta{})
	for pid := range 3 {
		m := &ModuleInfo{Start: 0x1000, End: 0x2000, Path: "[anon]", Owner: pid}
		b.Add(Interval{Stack: b.Intern([]Loc{{Module: m, Addr: 0x1500}}), PID: pid, CPU: 5})
	}
	equal(t, "mappings", len(roundTrip(t, b).Mapping), 3)
}

func TestWritesWhileRecordingAreConsistent(t *testing.T) {
	for _, aggregate := range []bool{false, true} {
		b := NewBuilder(Meta{Start: time.Unix(1, 0), Aggregate: aggregate})
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 20000 {
				id := b.Intern([]Loc{{Module: testMain, Addr: 0x400000 + uint64(i%3000)}, {Module: testMain, Addr: 0x400010}})
				b.Add(Interval{Stack: id, PID: 1, TID: i % 50, State: "running", End: int64(i), Samples: 1, Wall: 10, RunQueue: 4,
					CPU: 6})
			}
		})
		for range 5 {
			p := roundTrip(t, b)
			equal(t, "wall", total(p, 1), 10*total(p, 0))
			equal(t, "cpu", total(p, 3), 6*total(p, 0))
		}
		wg.Wait()
		equal(t, "all", total(roundTrip(t, b), 0), int64(20000))
	}
}

func TestGoToolPprofOpensARecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.pb.gz")
	if err := testBuilder(false).WriteFile(path, names); err != nil {
		t.Fatal(err)
	}
	raw := pprofTool(t, "-raw", path)
	for _, want := range []string{"samples/count wall/nanoseconds runqueue/nanoseconds cpu/nanoseconds", "inner(int)",
		"[incomplete: no-rule]", "/usr/bin/app abcd"} {
		if !strings.Contains(raw, want) {
			t.Errorf("pprof -raw lacks %q:\n%s", want, raw)
		}
	}
	if top := pprofTool(t, "-top", "-symbolize=none", path); !strings.Contains(top, "90ms   100%") ||
		!strings.Contains(top, "inner(int)") {
		t.Errorf("pprof -top:\n%s", top)
	}
}

func pprofTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "pprof"}, args...)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "PPROF_BINARY_PATH="+t.TempDir())
	out, err := bounded.AllOutput(cmd)
	if err != nil {
		t.Fatalf("go tool pprof %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestAFileAboveTheSizeLimitHasANextStep(t *testing.T) {
	err := WriteFileAtomic(filepath.Join(t.TempDir(), "r.pb.gz"), func(io.Writer) error { return syscall.EFBIG })
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "raise ulimit -f") {
		t.Errorf("error %v", err)
	}
}

func TestFileIsReplacedAsAWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.pb.gz")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := WriteFileAtomic(path, func(w io.Writer) error {
		io.WriteString(w, "half of it")
		return syscall.ENOSPC
	})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("error %v", err)
	}
	old, _ := os.ReadFile(path)
	equal(t, "old file", string(old), "old")
	if err := testBuilder(false).WriteFile(path, names); err != nil {
		t.Fatal(err)
	}
	st, _ := os.Stat(path)
	equal(t, "mode", st.Mode(), os.FileMode(0o600))
	left, _ := os.ReadDir(dir)
	equal(t, "files", len(left), 1)
	if _, err := ReadFile(path); err != nil {
		t.Error(err)
	}
}

func TestWriteToAFullDevice(t *testing.T) {
	err := testBuilder(false).WriteFile("/dev/full", names)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("error %v", err)
	}
}

func TestLinkIsKeptAndItsTargetReplaced(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink("target", link)); err != nil {
		t.Fatal(err)
	}
	if err := testBuilder(false).WriteFile(link, names); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Lstat(link); st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if _, err := ReadFile(target); err != nil {
		t.Error(err)
	}
}

func TestPipeTakesTheProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "replaceable", outfile.Replaceable(path), false)
	got := make(chan error)
	go func() {
		_, err := ReadFile(path)
		got <- err
	}()
	if err := testBuilder(false).WriteFile(path, names); err != nil {
		t.Fatal(err)
	}
	if err := bounded.Receive(t, "the reader ends", got); err != nil {
		t.Error(err)
	}
}

func TestWriteErrorsNameTheNextStep(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none", "r"): "make the directory first",
		dir:                             "is a directory",
		filepath.Join(file, "r"):        "make the directory first",
	} {
		err := testBuilder(false).WriteFile(path, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
