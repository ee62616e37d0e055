// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/report"
)

func record(t *testing.T, args ...string) *profile.Profile {
	t.Helper()
	dir := t.TempDir()
	exe, out := filepath.Join(dir, "prywalk"), filepath.Join(dir, "out.pb.gz")
	if err := testtargets.BuildPrywalk(exe); err != nil {
		t.Fatal(err)
	}
	all := slices.Concat([]string{"record", "-q", "-o", out}, args, []string{"--", "sh", "-c",
		"for i in 1 2 3; do (i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done) & done; sleep 0.3; wait"})
	if text, err := bounded.AllOutput(exec.Command(exe, all...)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func decode(t *testing.T, p *profile.Profile, o report.Options) pprofile.Profiles {
	t.Helper()
	var text bytes.Buffer
	if err := report.OTLP(&text, p, o); err != nil {
		t.Fatal(err)
	}
	var u pprofile.ProtoUnmarshaler
	got, err := u.UnmarshalProfiles(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

type values map[string]int64

func ofRecording(p *profile.Profile) values {
	out := values{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		for i, t := range p.SampleType {
			if s.Value[i] != 0 {
				out[fmt.Sprint(s.NumLabel["pid"], t.Type, "/", t.Unit, strings.Join(names, ";"))] += s.Value[i]
			}
		}
	}
	return out
}

func ofMessage(t *testing.T, p pprofile.Profiles) values {
	t.Helper()
	out, d := values{}, p.Dictionary()
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	for _, r := range p.ResourceProfiles().All() {
		pid, _ := r.Resource().Attributes().Get("process.pid")
		for _, one := range r.ScopeProfiles().At(0).Profiles().All() {
			kind := text(one.SampleType().TypeStrindex()) + "/" + text(one.SampleType().UnitStrindex())
			for _, s := range one.Samples().All() {
				var names []string
				for _, l := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
					for _, line := range d.LocationTable().At(int(l)).Lines().All() {
						names = append(names, text(d.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
					}
				}
				key := fmt.Sprint([]int64{pid.Int()}, kind, strings.Join(names, ";"))
				for _, v := range s.Values().All() {
					out[key] += v
				}
				checkTimes(t, one, s)
			}
		}
	}
	return out
}

func checkTimes(t *testing.T, p pprofile.Profile, s pprofile.Sample) {
	t.Helper()
	times := s.TimestampsUnixNano()
	if n := times.Len(); n != 0 && n != s.Values().Len() || n == 0 && s.Values().Len() != 1 {
		t.Errorf("%d times, %d values", n, s.Values().Len())
	}
	for _, at := range times.All() {
		if begin := uint64(p.Time()); at < begin || at >= begin+p.DurationNano() {
			t.Errorf("a sample at %d, the profile is %d and %d long", at, begin, p.DurationNano())
		}
	}
}

func TestSumsAndStacksAreThoseOfTheRecording(t *testing.T) {
	for _, args := range [][]string{nil, {"--aggregate"}} {
		p := record(t, args...)
		got := decode(t, p, report.Options{})
		want, have := ofRecording(p), ofMessage(t, got)
		if len(want) < 10 || !maps.Equal(want, have) {
			t.Errorf("%v: %d sums in the recording, %d in the message", args, len(want), len(have))
			for k, v := range want {
				if have[k] != v {
					t.Errorf("%s: %d, want %d", k, have[k], v)
				}
			}
		}
		if n := got.ResourceProfiles().Len(); n < 3 {
			t.Errorf("%d resources", n)
		}
	}
}

func TestTablesHoldToTheRules(t *testing.T) {
	d := decode(t, record(t), report.Options{}).Dictionary()
	text := d.StringTable().AsRaw()
	if text[0] != "" || len(slices.Compact(slices.Sorted(slices.Values(text)))) != len(text) {
		t.Error("the strings do not begin with the empty one, or one is twice")
	}
	if a := d.AttributeTable().At(0); a.KeyStrindex() != 0 || a.Value().Type() != pcommon.ValueTypeEmpty {
		t.Error("attribute 0 is not the zero value")
	}
	if l := d.LocationTable().At(0); l.MappingIndex() != 0 || l.Address() != 0 || l.Lines().Len() != 0 {
		t.Error("location 0 is not the zero value")
	}
	if d.StackTable().At(0).LocationIndices().Len() != 0 || d.FunctionTable().At(0).NameStrindex() != 0 ||
		d.MappingTable().At(0).MemoryLimit() != 0 || d.LinkTable().Len() != 1 {
		t.Error("stack, function, mapping or link 0 is not the zero value")
	}
	stacks := map[string]bool{}
	for _, s := range d.StackTable().All() {
		key := fmt.Sprint(s.LocationIndices().AsRaw())
		if stacks[key] {
			t.Errorf("stack %s is twice", key)
		}
		stacks[key] = true
		for _, l := range s.LocationIndices().All() {
			if l <= 0 || int(l) >= d.LocationTable().Len() {
				t.Errorf("location %d of %d", l, d.LocationTable().Len())
			}
		}
	}
	kinds := map[string]int{}
	for i, l := range d.LocationTable().All() {
		for _, a := range l.AttributeIndices().All() {
			attribute := d.AttributeTable().At(int(a))
			if text[attribute.KeyStrindex()] == "profile.frame.type" {
				kinds[attribute.Value().Str()]++
			}
		}
		if int(l.MappingIndex()) >= d.MappingTable().Len() {
			t.Errorf("location %d: mapping %d of %d", i, l.MappingIndex(), d.MappingTable().Len())
		}
	}
	if kinds["native"] == 0 {
		t.Errorf("types of frames: %v", kinds)
	}
}
