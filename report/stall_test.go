// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
)

// A stallPhase is what the program says of a phase: when it was, since the recording's beginning, and its CPU time.
type stallPhase struct{ from, to, cpu time.Duration }

// within is the middle of a phase: sampling finds its ends a tick too early or too late.
func (p stallPhase) within() string {
	edge := (p.to - p.from) / 4
	return fmt.Sprintf("from=%s&to=%s", p.from+edge, p.to-edge)
}

// stalled records the service with one stall, stall.c.
func stalled(t *testing.T) (*profile.Profile, map[string]stallPhase) {
	t.Helper()
	testtargets.NeedProgram(t, "cc")
	program, err := testtargets.Compile("stall.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prywalk, file := filepath.Join(dir, "prywalk"), filepath.Join(dir, "recording")
	if err := testtargets.BuildPrywalk(prywalk); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	record := exec.CommandContext(ctx, prywalk, "record", "-q", "--max-overhead", "off", "--max-pause", "off",
		"-o", file, "--", program)
	record.WaitDelay = time.Second
	var stderr bytes.Buffer
	record.Stderr = &stderr
	out, err := record.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &stderr)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := rec.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]stallPhase{}
	for line := range strings.Lines(string(out)) {
		words, ns := strings.Fields(line), [3]int64{}
		if len(words) != 4 {
			t.Fatalf("%q is no phase: %s", line, out)
		}
		for i := range ns {
			if ns[i], err = strconv.ParseInt(words[i+1], 10, 64); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		phases[words[0]] = stallPhase{time.Duration(ns[0] - p.TimeNanos), time.Duration(ns[1] - p.TimeNanos),
			time.Duration(ns[2])}
	}
	return p, phases
}

// Questions answered from the page alone, of a program that knows the answers.
func TestFiveQuestionsAboutARealStallInABrowser(t *testing.T) {
	p, phases := stalled(t)
	ctx := browser(t, p)
	named := func(list []string) (names []string) {
		for _, name := range list {
			names = append(names, strings.Fields(name)[0])
		}
		return names
	}
	t.Run("Which thread was late?", func(t *testing.T) {
		s := show(ctx, t, phases["late"].within()+"&view=tracks")
		late := named(value[[]string](ctx, t, `[...document.querySelectorAll(".track")].filter((r) =>
			r.querySelector(".what").innerText === "100% lock").map((r) => r.dataset.thread)`))
		if !slices.Equal(late, []string{"worker"}) {
			t.Errorf("%s: late are %q of %q", s.Hash, late, s.Tracks)
		}
	})
	t.Run("What did it wait for?", func(t *testing.T) {
		s := show(ctx, t, phases["late"].within()+"&view=waits&thread=worker")
		if names := slices.Collect(maps.Keys(s.Waits)); !slices.Equal(names, []string{"futex: mutex cache_mu"}) ||
			s.Waits[names[0]] != s.Totals["wall"] {
			t.Errorf("%s: %v of %v", s.Hash, s.Waits, s.Totals)
		}
	})
	t.Run("What did the lock's holder do?", func(t *testing.T) {
		got := text(ctx, t, "#wait")
		wants(t, "the waiter", got, "waits in futex: mutex cache_mu")
		wants(t, "the waiter", got, "lookup worker")
		wants(t, "the owner", got, "owner: janitor (")
		wants(t, "the owner", got, "it was running compact janitor")
	})
	t.Run("What changed after the deploy?", func(t *testing.T) {
		before := phases["before"]
		edge := (before.to - before.from) / 4
		s := show(ctx, t, fmt.Sprintf("%s&other=%s-%s&view=flame&thread=worker&value=wall", phases["after"].within(),
			before.from+edge, before.to-edge))
		changed := value[map[string]string](ctx, t, `Object.fromEntries(
			[...byId("functions").querySelectorAll("[data-change]")].map((r) => [r.dataset.name, r.dataset.change]))`)
		sure := func(function string) string { return strings.TrimPrefix(changed[function], "≈ ") } // or of few looks
		if !strings.HasPrefix(sure("parse_v2"), "+") || !strings.HasSuffix(sure("parse_v2"), " (only here)") ||
			!strings.HasPrefix(sure("parse_v1"), "−") || !strings.HasSuffix(sure("parse_v1"), " (not here)") {
			t.Errorf("%s: %q", s.Hash, changed)
		}
	})
	t.Run("Where did the CPU go in the spike?", func(t *testing.T) {
		s := show(ctx, t, phases["spike"].within()+"&view=functions")
		if r := s.Rows["spiky"]; r[1] == "" || r[1] == "0" || s.Rows["render"][1] != r[1] {
			t.Errorf("%s: %v", s.Hash, s.Rows)
		}
	})
	t.Run("CPU time", func(t *testing.T) {
		all, least, most := show(ctx, t, "view=functions").Totals["cpu"], time.Duration(0), time.Duration(0)
		for _, phase := range phases {
			if most += phase.cpu; phase.from >= 0 { // not begun before the recording
				least += phase.cpu
			}
		}
		const clockTick = 10 * time.Millisecond // the kernel counts what exited threads had since a look in these
		if cpu, _ := strconv.ParseInt(all, 10, 64); time.Duration(cpu) < least-clockTick ||
			time.Duration(cpu) > most+most/10 || len(phases) != 5 { // the program's start is no phase
			t.Errorf("%s ns of CPU time, by the threads' own clocks %v to %v: %v", all, least, most, phases)
		}
	})
	t.Run("numbers", func(t *testing.T) {
		length := time.Duration(p.DurationNanos)
		partsAsReported(ctx, t, p, [][2]time.Duration{{0, length}, {length / 7, length / 3}, {length/2 + 1, length/2 + 2},
			{phases["late"].from, phases["late"].to}})
	})
	t.Run("Perfetto", func(t *testing.T) {
		var b bytes.Buffer
		if err := Perfetto(&b, p, Options{}); err != nil {
			t.Fatal(err)
		}
		traceHasTheSums(t, readTrace(t, b.Bytes()), p)
		perfettosPackageReads(t, b.Bytes())
	})
}

// traceHasTheSums compares a trace with the sums of report --json and with each thread's time.
func traceHasTheSums(t *testing.T, got traced, p *profile.Profile) {
	t.Helper()
	d, err := prepare(p, Options{Value: "blocked"})
	if err != nil {
		t.Fatal(err)
	}
	totals := jsonTotals(d)
	counters := map[string]int64{}
	for _, clock := range []string{"cpu", "runqueue", "blocked"} {
		counters[clock] = totals[clock]
	}
	if !reflect.DeepEqual(got.counters, counters) {
		t.Errorf("the counters end at %v, want %v", got.counters, counters)
	}
	for _, g := range d.Groups("thread") {
		sum, want, until := int64(0), int64(0), int64(0)
		for _, ns := range got.slices[g.Name+" state"] {
			sum += ns
		}
		view.SortByTime(g.Samples)
		for _, s := range g.Samples { // what an account has beyond its thread's time overlaps
			end := view.NumLabel(s, rec.LabelEnd)
			want += max(0, end-max(until, end-s.Value[1]))
			until = max(until, end)
		}
		if sum != want {
			t.Errorf("%s: its states are %d ns long, want %d", g.Name, sum, want)
		}
	}
}
