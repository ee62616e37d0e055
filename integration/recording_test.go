// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

const (
	samplesColumn = iota
	wallColumn
	queueColumn
	cpuColumn
)

type runStats struct {
	Ticks         int64            `json:"ticks"`
	Attempted     int64            `json:"attempted"`
	Stopped       int64            `json:"stopped"`
	ReadPassively int64            `json:"read_passively"`
	Unchanged     int64            `json:"unchanged"`
	Engine        string           `json:"engine"`
	EngineNote    string           `json:"engine_note"`
	KernelSampled int64            `json:"kernel_sampled"`
	Failed        map[string]int64 `json:"failed"`
	Incomplete    map[string]int64 `json:"incomplete"`
	ThreadsMax    int64            `json:"threads_max"`
	DurationS     float64          `json:"duration_s"`
	FrequencyGot  float64          `json:"frequency_got"`
	CPUTargetS    float64          `json:"cpu_target_s"`
	CPUProfiledS  float64          `json:"cpu_profiled_s"`
	NotObservedS  float64          `json:"not_observed_s"`
	Scheduling    string           `json:"scheduling"`
	StopUS        *struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
		Max float64 `json:"max"`
	} `json:"stop_us"`
	FramesByMethod map[string]int64 `json:"frames_by_method"`
}

type recording struct {
	result
	file  string
	stats runStats
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

func checkAccounting(t *testing.T, s runStats) {
	t.Helper()
	sum := s.Stopped + s.ReadPassively + s.Unchanged
	for _, n := range s.Failed {
		sum += n
	}
	if s.Attempted != sum || s.Attempted+s.KernelSampled == 0 {
		t.Errorf("attempted is %d, want stopped %d + read_passively %d + unchanged %d + failed %v = %d, and above 0 without "+
			"kernel samples (%d)", s.Attempted, s.Stopped, s.ReadPassively, s.Unchanged, s.Failed, sum, s.KernelSampled)
	}
	if s.Stopped > 0 && s.StopUS == nil {
		t.Error("stop_us is missing though there are stops")
	}
}
