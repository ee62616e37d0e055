// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	rec "prywalk/internal/store/profile"
	"prywalk/internal/testtargets/bounded"
)

type selfTotal struct{ self, total int64 }

func pprofTop(t *testing.T, path, value string, more ...string) map[string]selfTotal {
	t.Helper()
	args := append([]string{"tool", "pprof", "-top", "-symbolize=none", "-sample_index=" + value, "-unit=ns",
		"-nodecount=1000000", "-nodefraction=0"}, more...)
	cmd := exec.Command("go", append(args, path)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "PPROF_BINARY_PATH="+t.TempDir())
	out, err := bounded.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	top := map[string]selfTotal{}
	_, rows, _ := strings.Cut(string(out), "cum%\n")
	for _, l := range strings.Split(strings.TrimSpace(rows), "\n") {
		f := strings.Fields(l)
		if len(f) < 6 {
			t.Fatalf("cannot parse %q", l)
		}
		name := strings.TrimSuffix(strings.Join(f[5:], " "), " (inline)")
		name = strings.TrimSuffix(name, " (partial-inline)")
		top[name] = selfTotal{nanos(t, f[0]), nanos(t, f[3])}
	}
	return top
}

func nanos(t *testing.T, s string) int64 {
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "ns"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(math.Round(v))
}

func compareWithPprof(t *testing.T, p *profile.Profile, o Options, more ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	var buf bytes.Buffer
	if err := p.Write(&buf); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	theirs := pprofTop(t, path, o.Value, more...)
	d, err := prepare(p, o)
	if err != nil {
		t.Fatal(err)
	}
	rows := d.Rows(d.Profile.Sample)
	for _, r := range rows {
		name := d.Table.Frames[r.Frame].Name
		if got := (selfTotal{r.Self, r.Total}); got != theirs[name] {
			t.Errorf("%s %s: %v, pprof has %v", o.Value, name, got, theirs[name])
		}
		delete(theirs, name)
	}
	for name, v := range theirs {
		if v != (selfTotal{}) {
			t.Errorf("%s: only pprof has %s %v", o.Value, name, v)
		}
	}
	if len(rows) == 0 {
		t.Error("nothing was compared")
	}
}

func TestValuesEqualPprofs(t *testing.T) {
	for _, v := range []string{"cpu", "wall", "runqueue"} {
		compareWithPprof(t, fixture(t), Options{Value: v})
	}
	compareWithPprof(t, fixture(t), Options{Value: "cpu", Focus: "worker", Ignore: "walk|libblob"}, "-focus=worker",
		"-ignore=walk|libblob")
	compareWithPprof(t, fixture(t), Options{Value: "wall", Focus: "libblob|tree.c"}, "-focus=libblob|tree.c")
	compareWithPprof(t, large(t, 2000, 10), Options{Value: "cpu"})
}

func TestValuesEqualPprofsForARealGoProfile(t *testing.T) {
	var buf bytes.Buffer
	if err := pprof.StartCPUProfile(&buf); err != nil {
		t.Fatal(err)
	}
	for start := used(t); used(t) < start+500*time.Millisecond; {
		render(t, HTML, fixture(t), Options{})
	}
	pprof.StopCPUProfile()
	p, err := rec.Read(&buf)
	if err != nil {
		t.Fatal(err)
	}
	compareWithPprof(t, p, Options{Value: "cpu"})
}

func used(t *testing.T) time.Duration {
	t.Helper()
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func TestGoTakesThePGOProfile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "default.pgo")
	var buf bytes.Buffer
	if err := PGO(&buf, fixture(t), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := rec.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cpu int64
	for _, s := range p.Sample {
		cpu += s.Value[1]
	}
	// 1,000 ms less 5 without code
	if cpu != 995e6 || p.SampleType[0].Type != "samples" || p.SampleType[1].Type != "cpu" {
		t.Errorf("cpu %d in %v", cpu, p.SampleType)
	}
	out := filepath.Join(dir, "out")
	if msg, err := bounded.AllOutput(exec.Command("go", "tool", "preprofile", "-i", path, "-o", out)); err != nil {
		t.Fatalf("go tool preprofile: %v\n%s", err, msg)
	}
	graph, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(graph), "worker\ncompress\n") {
		t.Errorf("preprofile made:\n%s", graph)
	}
}
