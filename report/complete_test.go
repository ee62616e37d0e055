// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/sample"
	rec "prywalk/internal/store/profile"
)

// Forty sleeping threads with complete stacks and a busy one, a quarter of whose CPU time is incomplete: 98 % of
// samples are complete, 75 % of CPU time. Forty functions have more self time than those of incomplete stacks.
func sleepersAndCut(t *testing.T) *profile.Profile {
	t.Helper()
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7, Main: app})
	asleep := b.Intern(join(at(libc, 0x10), at(app, 0x10), at(libc, 0x40)))
	for tid := range 40 {
		b.Add(rec.Interval{Stack: asleep, PID: 100, TID: 200 + tid, Comm: "kvd", State: "sleeping", Wait: "epoll_wait",
			End: 1_700_000_001e9, Samples: 100, Wall: 1e9})
	}
	for i := range 40 {
		leaf := at(app, 0x1000+uint64(i)*16)
		whole := b.Intern(join(leaf, at(app, 0x10), at(libc, 0x40)))
		cut := b.Intern(join(leaf, []rec.Loc{{Synthetic: "[incomplete: depth]"}}))
		for stack, ms := range map[sample.StackID]int64{whole: 75, cut: 25} {
			b.Add(rec.Interval{Stack: stack, PID: 100, TID: 100, Comm: "kvd", State: "running", End: 1_700_000_001e9,
				Samples: 1, Wall: ms * 1e6, CPU: ms * 1e6})
		}
	}
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
	names := nameTable{app.Path: {0x10: fn("main", "", 0)}, libc.Path: fixtureNames[libc.Path]}
	for i := range 40 {
		names[app.Path][0x1000+uint64(i)*16] = fn("step_"+strconv.Itoa(i), "", 0)
	}
	return parsed(t, b, names)
}

func TestCompletenessIsOfCPUTimeAndNotOfSleepers(t *testing.T) {
	p := sleepersAndCut(t)
	for _, c := range []struct{ value, head, why string }{
		{"cpu", "cpu 4.00s (75.0% with complete stacks)", "Incomplete stacks: 25.0% of cpu in [incomplete: depth]: "},
		{"wall", "wall 44.0s (97.7% with complete stacks)", "--max-depth"},
	} {
		table := render(t, Table, p, Options{Value: c.value})
		for _, want := range []string{c.head, "cpu 4.00s (75.0% with complete stacks)", c.why} {
			if !strings.Contains(strings.Join(strings.Fields(table), " "), want) {
				t.Errorf("%s: the head lacks %q:\n%s", c.value, want, table)
			}
		}
		_, rows, _ := strings.Cut(table, "function (")
		if first := strings.Join(strings.Split(rows, "\n")[1:1+5], "\n"); !strings.Contains(first, "[incomplete: depth]") {
			t.Errorf("%s: the first five rows lack it:\n%s", c.value, first)
		}
		asJSON := func(w io.Writer, p *profile.Profile, o Options) error { return JSON(w, p, false, o) }
		cpu, wall := completeInJSON(t, render(t, asJSON, p, Options{Value: c.value}))
		if math.Abs(cpu-foldedComplete(t, p, "cpu")) > 1e-9 || math.Abs(wall-foldedComplete(t, p, "wall")) > 1e-9 {
			t.Errorf("%s: JSON has %v, %v; the folded stacks %v, %v", c.value, cpu, wall,
				foldedComplete(t, p, "cpu"), foldedComplete(t, p, "wall"))
		}
	}
}

func TestIncompleteStacksAreNotedOnce(t *testing.T) {
	p := sleepersAndCut(t)
	p.Comments = append(p.Comments, "note: incomplete stacks: 25.0% of CPU time in [incomplete: depth]: of the recording")
	table := render(t, Table, p, Options{})
	if strings.Contains(table, "of the recording") || strings.Count(table, "25.0% of") != 1 {
		t.Errorf("%s", table)
	}
}

func TestConnectionsWithoutAnAnswerAreNotedIfTheConclusionHasThemNot(t *testing.T) {
	const note = runstats.AtTheEnd + "app (pid 7): 1 client connection: data came, none sent back for at least 15.9 s"
	p := sleepersAndCut(t)
	p.Comments = append(p.Comments, note)
	if table := render(t, Table, p, Options{}); strings.Count(table, "none sent back") != 1 {
		t.Errorf("%s", table)
	}
}

func completeInJSON(t *testing.T, text string) (cpu, wall float64) {
	t.Helper()
	var r struct {
		CPU  *float64 `json:"complete_cpu"`
		Wall *float64 `json:"complete_wall"`
		Why  struct {
			Reason, Message string
		} `json:"incomplete"`
		Functions []struct{ Name, Reason string }
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if r.CPU == nil || r.Wall == nil {
		t.Fatalf("complete_cpu or complete_wall is missing: %.200s", text)
	}
	if r.Why.Reason != "depth" || !strings.Contains(r.Why.Message, "--max-depth") {
		t.Errorf("incomplete stacks: %+v", r.Why)
	}
	for _, f := range r.Functions {
		if (f.Reason == "depth") != (f.Name == "[incomplete: depth]") {
			t.Errorf("%+v", f)
		}
	}
	return *r.CPU, *r.Wall
}

func foldedComplete(t *testing.T, p *profile.Profile, value string) float64 {
	t.Helper()
	var cut, all float64
	for line := range strings.Lines(render(t, Folded, p, Options{Value: value})) {
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		if err != nil {
			t.Fatal(err)
		}
		all += v
		if strings.Contains(line, "[incomplete") {
			cut += v
		}
	}
	return 1 - cut/all
}

func TestWhereAllStacksAreCompleteNoReasonIsGiven(t *testing.T) {
	whole := render(t, Table, wideFixture(t), Options{})
	if !strings.Contains(whole, "cpu 10.0s (100.0% of sampled time with complete stacks)") ||
		strings.Contains(whole, "Incomplete stacks") {
		t.Errorf("%s", whole)
	}
	other := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	if text := render(t, Table, other, Options{}); strings.Contains(text, "complete stacks") {
		t.Errorf("another tool's profile: %s", text)
	}
}

func TestTimeBetweenSamplesIsNoCompleteStack(t *testing.T) {
	recorded := func(sampled, between, cut int64) *profile.Profile {
		b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 10 * time.Millisecond, Main: app})
		for _, c := range []struct {
			stack []rec.Loc
			ms    int64
		}{
			{at(app, 0x20, 0x10), sampled}, {join([]rec.Loc{{Synthetic: "[ran between ticks]"}}, at(app, 0x10)), between},
			{join(at(app, 0x20), []rec.Loc{{Synthetic: "[incomplete: depth]"}}), cut},
		} {
			b.Add(rec.Interval{Stack: b.Intern(c.stack), PID: 7, TID: 7, State: "running", Samples: c.ms / 10,
				Wall: c.ms * 1e6, CPU: c.ms * 1e6})
		}
		return parsed(t, b, fixtureNames)
	}
	for want, p := range map[string]*profile.Profile{
		"cpu 10.0s (75.0% of sampled time with complete stacks)": recorded(3000, 6000, 1000),
		"cpu 4.10s (75.6% with complete stacks)":                 recorded(3000, 100, 1000),
		"cpu 1.00s (no time was sampled)":                        recorded(0, 1000, 0),
	} {
		if text := render(t, Table, p, Options{}); !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}
