// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

const (
	samplesColumn = iota
	wallColumn
	queueColumn
	cpuColumn
)

type statistics struct {
	Ticks        int64            `json:"ticks"`
	Attempted    int64            `json:"attempted"`
	Frozen       int64            `json:"frozen"`
	Peeked       int64            `json:"peeked"`
	Reused       int64            `json:"reused"`
	Engine       string           `json:"engine"`
	EngineNote   string           `json:"engine_note"`
	Sampled      int64            `json:"sampled"`
	Failed       map[string]int64 `json:"failed"`
	Incomplete   map[string]int64 `json:"incomplete"`
	ThreadsMax   int64            `json:"threads_max"`
	DurationS    float64          `json:"duration_s"`
	FrequencyGot float64          `json:"frequency_got"`
	CPUTargetS   float64          `json:"cpu_target_s"`
	CPUProfiledS float64          `json:"cpu_profiled_s"`
	NotObservedS float64          `json:"not_observed_s"`
	Scheduling   string           `json:"scheduling"`
	FreezeUS     *struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
		Max float64 `json:"max"`
	} `json:"freeze_us"`
	FramesByMethod map[string]int64 `json:"frames_by_method"`
}

type recording struct {
	result
	file  string
	stats statistics
	*profile.Profile
}

func pidList(pids []int) string {
	var s []string
	for _, pid := range pids {
		s = append(s, strconv.Itoa(pid))
	}
	return strings.Join(s, ",")
}

func recordAs(t *testing.T, u *testtargets.User, args ...string) *recording {
	t.Helper()
	return startRecording(t, u, args...).result()
}

func record(t *testing.T, args ...string) *recording {
	t.Helper()
	return recordAs(t, nil, args...)
}

func readProfile(t *testing.T, file string) *profile.Profile {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v", file, info.Mode())
	}
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	checkFormat(t, p)
	return p
}

func checkFormat(t *testing.T, p *profile.Profile) {
	t.Helper()
	if err := p.CheckValid(); err != nil {
		t.Errorf("invalid: %v", err)
	}
	want := []string{"samples/count", "wall/nanoseconds", "runqueue/nanoseconds", "cpu/nanoseconds"}
	var got []string
	for _, st := range p.SampleType {
		got = append(got, st.Type+"/"+st.Unit)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("sample types %v, want %v", got, want)
	}
	if p.DefaultSampleType != "cpu" {
		t.Errorf("default sample type %q", p.DefaultSampleType)
	}
	for _, s := range p.Sample {
		if problem := sampleProblem(s); problem != "" {
			t.Fatalf("%s: %v %v %v", problem, s.Value, s.Label, stackOf(s))
		}
	}
}

func sampleProblem(s *profile.Sample) string {
	if len(s.Location) == 0 {
		return "no location"
	}
	for _, v := range s.Value {
		if v < 0 {
			return "negative value"
		}
	}
	for _, l := range s.Location {
		for _, line := range l.Line {
			if strings.HasPrefix(line.Function.Name, "[incomplete") && (l.Address != 0 || l.Mapping != nil) {
				return "synthetic frame with an address"
			}
		}
	}
	if len(s.NumLabel["pid"]) != 1 {
		return "no pid"
	}
	return ""
}

func stackOf(s *profile.Sample) []string {
	var names []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			names = append(names, line.Function.Name)
		}
		if len(l.Line) == 0 {
			names = append(names, "")
		}
	}
	return names
}

func label(s *profile.Sample, key string) string {
	if v := s.Label[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func total(p *profile.Profile, column int) int64 {
	var sum int64
	for _, s := range p.Sample {
		sum += s.Value[column]
	}
	return sum
}

func completeShare(p *profile.Profile) (float64, int64) {
	var all, complete int64
	for _, s := range p.Sample {
		n := s.Value[samplesColumn]
		all += n
		names := stackOf(s)
		if !strings.HasPrefix(names[len(names)-1], "[incomplete") {
			complete += n
		}
	}
	return float64(complete) / float64(max(all, 1)), all
}

func notObserved(p *profile.Profile) float64 {
	var sum time.Duration
	for _, t := range notObservedBy(p) {
		sum += t
	}
	return float64(sum) / float64(max(total(p, cpuColumn), 1))
}

func notObservedBy(p *profile.Profile) map[string]time.Duration {
	by := map[string]time.Duration{}
	for _, s := range p.Sample {
		if name := stackOf(s)[0]; name == "[ran between ticks]" || name == "[exited unseen]" || name == "[not observed]" {
			by[name+" of "+label(s, "thread")] += time.Duration(s.Value[cpuColumn])
		}
	}
	return by
}

func checkAccounting(t *testing.T, s statistics) {
	t.Helper()
	sum := s.Frozen + s.Peeked + s.Reused
	for _, n := range s.Failed {
		sum += n
	}
	if s.Attempted != sum || s.Attempted+s.Sampled == 0 {
		t.Errorf("attempted is %d, want frozen %d + peeked %d + reused %d + failed %v = %d, and above 0 without kernel "+
			"samples (%d)", s.Attempted, s.Frozen, s.Peeked, s.Reused, s.Failed, sum, s.Sampled)
	}
	if s.Frozen > 0 && s.FreezeUS == nil {
		t.Error("freeze_us is missing though there are stops")
	}
}
