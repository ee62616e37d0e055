// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"maps"
	"testing"
	"time"

	"prywalk/internal/code/symbols"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/target"
)

// toySink is a sink in one file: CPU time in folded lines, named while it is recorded.
type toySink struct {
	names    *profile.Names // of the recording's Builder
	resolver profile.Resolver
	cpu      map[string]int64
	buf      []profile.Named
}

func (s *toySink) Add(iv profile.Interval) {
	s.buf = s.names.Stack(iv.Stack, s.resolver, s.buf[:0])
	var functions []string
	for _, l := range s.buf {
		for _, f := range l.Frames {
			functions = append(functions, f.Name)
		}
	}
	fold(s.cpu, functions, iv.CPU)
}

func fold(out map[string]int64, functions []string, cpu int64) {
	line := ""
	for _, f := range functions {
		line = f + ";" + line
	}
	if cpu > 0 {
		out[line] += cpu
	}
}

func TestSeveralSinksGetWhatTheRecordingGets(t *testing.T) {
	program := start(t, "burners", "2")
	n := names{symbols.NewNamer()}
	defer n.Close()
	o := target.SamplingOptions{Freq: 199, WatchEvery: 20 * time.Millisecond}
	b := builderOf(&o)
	toy, other := &toySink{profile.NewNames(b, nil), n, map[string]int64{}, nil}, &watched{}
	o.Sinks = []profile.Sink{toy, other}
	r := runInto(t, b, o, func(s *Sampler) bool {
		refreshes, _ := other.told(0)
		return s.Progress().Tracer.Stops >= 20 && refreshes > 0
	}, nil, program.pid)
	want := map[string]int64{}
	var cpu int64
	for _, s := range r.Sample {
		fold(want, stack(s), s.Value[3])
		cpu += s.Value[3]
	}
	if !maps.Equal(toy.cpu, want) {
		t.Errorf("the toy has\n%v\nthe recording\n%v", toy.cpu, want)
	}
	if other.cpu != cpu || other.refreshes == 0 {
		t.Errorf("the other sink has %d ns of %d, and %d refreshes", other.cpu, cpu, other.refreshes)
	}
	if r.sumOf(3, in("burn_here")) == 0 {
		t.Error("no time in burn_here")
	}
}
