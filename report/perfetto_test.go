// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/testtargets"
)

// fields reads a message by its field numbers; of a repeated field all.
func fields(t *testing.T, m []byte) map[int][]protobuf.Field {
	t.Helper()
	all := map[int][]protobuf.Field{}
	for len(m) > 0 {
		f, rest, err := protobuf.Next(m)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Number], m = append(all[f.Number], f), rest
	}
	return all
}

// traced is what a reader of perfetto_trace.proto finds.
type traced struct {
	// slices are the lengths by track and name, ns; the state's track of a thread is "NAME state".
	slices   map[string]map[string]int64
	counters map[string]int64 // last values
}

func readTrace(t *testing.T, trace []byte) traced {
	t.Helper()
	type open struct {
		name  string
		begin int64
	}
	got := traced{map[string]map[string]int64{}, map[string]int64{}}
	tracks, names := map[uint64]string{}, map[uint64]string{}
	stacks, last := map[uint64][]open{}, map[uint64]int64{}
	for i, packet := range fields(t, trace)[1] {
		p := fields(t, packet.Body)
		if flags := p[13][0].Value; (flags == 1) != (i == 0) || p[10][0].Value != 1 {
			t.Fatalf("packet %d: sequence %d, flags %d", i, p[10][0].Value, flags)
		}
		for _, interned := range p[12] {
			for _, name := range fields(t, interned.Body)[2] {
				e := fields(t, name.Body)
				names[e[1][0].Value] = string(e[2][0].Body)
			}
		}
		for _, d := range p[60] {
			track := fields(t, d.Body)
			name := ""
			if len(track[2]) > 0 {
				name = string(track[2][0].Body)
			}
			if name == "state" {
				name = tracks[track[5][0].Value] + " state"
			}
			tracks[track[1][0].Value] = name
			got.slices[name] = map[string]int64{}
		}
		for _, event := range p[11] {
			e := fields(t, event.Body)
			track, time := e[11][0].Value, int64(p[8][0].Value)
			if _, known := tracks[track]; !known {
				t.Fatalf("packet %d is of track %d", i, track)
			}
			switch e[9][0].Value {
			case 1:
				stacks[track] = append(stacks[track], open{names[e[10][0].Value], time})
			case 2:
				n := len(stacks[track]) - 1
				s := stacks[track][n]
				stacks[track] = stacks[track][:n]
				got.slices[tracks[track]][s.name] += time - s.begin
			case 4:
				got.counters[tracks[track]] = int64(e[30][0].Value)
			}
			if time < last[track] {
				t.Fatalf("packet %d is before the one before it", i)
			}
			last[track] = time
		}
	}
	for track, s := range stacks {
		if len(s) > 0 {
			t.Errorf("slices of %s are open: %v", tracks[track], s)
		}
	}
	return got
}

func TestATraceHasEachThreadsStacksAndStates(t *testing.T) {
	var b bytes.Buffer
	if err := Perfetto(&b, timedFixture(t), Options{}); err != nil {
		t.Fatal(err)
	}
	got := readTrace(t, b.Bytes())
	for _, want := range []struct {
		track, slice string
		ns           int64
	}{
		{"worker-2 (tid 102)", "pthread_cond_wait", 402e6}, {"worker-2 (tid 102)", "worker", 10e9},
		{"worker-2 (tid 102)", "lookup", 6e9 - 402e6}, {"worker-2 (tid 102)", "visit", 4e9},
		{"worker-2 (tid 102) state", "futex: mutex cache_mu", 402e6}, {"worker-2 (tid 102) state", "running", 10e9 - 402e6},
		{"worker-1 (tid 101)", "compress", 9600e6}, {"worker-1 (tid 101)", "visit", 400e6}, {"spike (tid 103)", "main", 9e9},
		{"kvd (tid 100) state", "epoll_wait [idle: event-loop]", 10e9},
	} {
		if ns := got.slices[want.track][want.slice]; ns != want.ns {
			t.Errorf("%s: %s has %d, want %d: %v", want.track, want.slice, ns, want.ns, got.slices[want.track])
		}
	}
	traceHasTheSums(t, got, timedFixture(t))
}

func TestATraceNeedsTimeStamps(t *testing.T) {
	p := timedFixture(t)
	for _, s := range p.Sample {
		s.NumLabel = nil
	}
	if err := Perfetto(io.Discard, p, Options{}); !errors.Is(err, ErrNoTime) {
		t.Errorf("%v", err)
	}
}

// jsonTotals are the sums of report --json.
func jsonTotals(d *data) jsonValues {
	form := jsonForm{data: d}
	return form.values(form.data.Sums(d.Profile.Sample))
}

// perfettoDir has PyPI's package perfetto (scripts/setup-tests.sh).
const perfettoDir = "/usr/local/lib/perfetto-python"

func TestATraceIsReadByPerfettosPackage(t *testing.T) {
	var b bytes.Buffer
	if err := Perfetto(&b, timedFixture(t), Options{}); err != nil {
		t.Fatal(err)
	}
	perfettosPackageReads(t, b.Bytes())
}

// Google's own messages have a field for each that is written. Its trace processor reads the trace where it is
// installed; no registry of packages has one.
func perfettosPackageReads(t *testing.T, trace []byte) {
	t.Helper()
	python := testtargets.NeedProgram(t, "python3")
	_, err := os.Stat(perfettoDir)
	testtargets.Need(t, err == nil, "PyPI's package perfetto", testtargets.SetUp)
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, trace, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	c := exec.CommandContext(ctx, python, "-B", "testdata/readtrace.py", path)
	c.WaitDelay = time.Second
	c.Env, c.Stderr = append(os.Environ(), "PYTHONPATH="+perfettoDir), os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct {
		Slices        map[string]map[string]int64
		Counters      map[string]int64
		Unknown, Open int
		Units         []string
		Processor     *struct {
			Errors []string
			Sums   map[string]int64
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := readTrace(t, trace)
	if !reflect.DeepEqual(traced{got.Slices, got.Counters}, want) || len(want.slices) == 0 {
		t.Errorf("its slices and counters are %v, %v, want %v", got.Slices, got.Counters, want)
	}
	if got.Unknown != 0 || got.Open != 0 || !slices.Equal(got.Units, []string{"UNIT_TIME_NS"}) {
		t.Errorf("%d fields are unknown, %d slices open; units %q", got.Unknown, got.Open, got.Units)
	}
	if got.Processor == nil {
		t.Log("no trace_processor_shell here: the trace was decoded, not imported")
		return
	}
	sums := map[string]int64{}
	for _, track := range want.slices {
		for name, ns := range track {
			sums[name] += ns
		}
	}
	if len(got.Processor.Errors) > 0 || !maps.Equal(got.Processor.Sums, sums) {
		t.Errorf("the trace processor: errors %q; slices %v, want %v", got.Processor.Errors, got.Processor.Sums, sums)
	}
}
