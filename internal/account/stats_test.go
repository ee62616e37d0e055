package account

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"prywalk/internal/runstats"
)

// TestLongFreezesAreToldByCause: in the JSON object, which is there without any, and in the line that a recording
// keeps.
func TestLongFreezesAreToldByCause(t *testing.T) {
	for _, c := range []struct {
		long       runstats.Causes
		json, line string
	}{
		{runstats.Causes{"copy": {N: 3, Max: 412_500}, "lock": {N: 5, Max: 2_000_000}},
			`{"copy":{"n":3,"max_us":412.5},"lock":{"n":5,"max_us":2000}}`, ", long ones by cause (lock 5, copy 3))"},
		{nil, `{}`, ""},
	} {
		s := &runstats.Stats{}
		s.Frozen, s.Long, s.Late = 10, c.long, runstats.Long{N: 4, Max: 300_500}
		var out bytes.Buffer
		if err := WriteJSON(&out, s); err != nil {
			t.Fatal(err)
		}
		type late struct {
			N   int64   `json:"n"`
			Max float64 `json:"max_us"`
		}
		var got struct {
			Long json.RawMessage `json:"long_freezes"`
			Late late            `json:"late_stops"`
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if want := (late{4, 300.5}); got.Late != want {
			t.Errorf("late: %v, want %v", got.Late, want)
		}
		var flat bytes.Buffer
		if err := json.Compact(&flat, got.Long); err != nil || flat.String() != c.json {
			t.Errorf("%s, want %s (%v)", &flat, c.json, err)
		}
		if line := Full(s); !strings.Contains(line, c.line) || strings.Contains(line, "by cause") != (c.line != "") {
			t.Errorf("%q is not in %q", c.line, line)
		}
	}
}

// TestWhereNothingWasLookedAtNoEngineIsNamed: a command that ended before its processes could be opened.
func TestWhereNothingWasLookedAtNoEngineIsNamed(t *testing.T) {
	if line := brief(&runstats.Stats{}); strings.Contains(line, "engine") {
		t.Errorf("%q", line)
	}
	perf := runstats.Stats{}
	perf.Engine = "perf"
	if line := brief(&perf); !strings.Contains(line, "engine perf") {
		t.Errorf("%q", line)
	}
}

// TestWhatWasNotMetIsToldOnce: in the line that record ends with and in the one that the recording keeps, with the
// number, and not where it is little.
func TestWhatWasNotMetIsToldOnce(t *testing.T) {
	const told = "of CPU time have no function"
	for _, c := range []struct {
		children, threads, all, programs float64
		want                             string
	}{
		{0.9, 0.03, 1.5, 0, "0.93 s of 1.50 s of CPU time have no function (0.90 s of short-lived children, " +
			"0.03 s of threads that ended unseen)"},
		{0.9, 0.03, 1.5, 0.81, "0.93 s of 1.50 s of CPU time have no function (0.90 s of short-lived children, 90.0% of " +
			"which by program, 0.03 s of threads that ended unseen)"},
		{0, 0.5, 1, 0, "0.50 s of 1.00 s of CPU time have no function (0.00 s of short-lived children, " +
			"0.50 s of threads that ended unseen)"},
		{0.02, 0.02, 0.1, 0, ""}, // less than anybody wants to know
		{0.1, 0, 10, 0, ""},
		{0, 0, 0, 0, ""},
	} {
		s := &runstats.Stats{}
		s.Samples, s.ProfiledCPU, s.ShortLivedCPU, s.ExitedUnseenCPU = 10, c.all, c.children, c.threads
		s.ProgramCPU = c.programs
		for _, line := range []string{Closing(s, "p.pb.gz"), Full(s)} {
			n := min(1, len(c.want))
			if strings.Count(line, told) != n || !strings.Contains(line, c.want) || strings.Contains(line, "\n") {
				t.Errorf("%q does not say %q %d times", line, c.want, n)
			}
		}
	}
}

// TestLostSamplesAreToldWithWhoseTheyWere: the kernel's buffers are everybody's.
func TestLostSamplesAreToldWithWhoseTheyWere(t *testing.T) {
	for _, c := range []struct {
		all, own int64
		want     string
	}{
		{0, 0, ""},
		{1, 1, ", 1 sample lost"},
		{38485, 38485, ", 38485 samples lost"},
		{38485, 310, ", about 310 samples lost (38485 records of all programs found no room)"},
		{2, 1, ", about 1 sample lost (2 records of all programs found no room)"},
		{38485, 0, ", hardly any sample lost (38485 records of all programs found no room)"},
	} {
		s := &runstats.Stats{}
		s.Engine, s.LostSamples, s.LostOfTargets = "perf", c.all, c.own
		if got := perfEngine(s); got != ", engine perf"+c.want {
			t.Errorf("%d of %d: %q", c.own, c.all, got)
		}
		if !strings.HasSuffix(Full(s), "; engine perf"+c.want) {
			t.Errorf("%d of %d: %q", c.own, c.all, Full(s))
		}
	}
}
