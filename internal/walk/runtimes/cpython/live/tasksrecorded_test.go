// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/sampler"
	"prywalk/internal/watch/target"
)

type noNames struct{}

func (noNames) Resolve(*profile.ModuleInfo, uint64) []profile.Frame { return nil }

func recordTasks(t *testing.T, pid int) *pprof.Profile {
	t.Helper()
	images := loadedcode.NewImageCache(0)
	p, err := images.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	b := profile.NewBuilder(profile.Meta{Start: time.Now(), Period: time.Second / 99})
	s := sampler.New(target.SamplingOptions{Freq: 99, Tasks: true}, b, images, []*loadedcode.Process{p})
	ctx, cancel := context.WithTimeout(context.Background(), testtargets.Patience)
	go func() {
		defer cancel()
		testtargets.Comes(func() bool { return ctx.Err() != nil || s.Progress().Tracer.Ticks >= 20 })
	}()
	stats, err := s.Run(ctx)
	if err != nil {
		t.Error(err)
	}
	if g := stats.Tasks; g == nil || g.Incomplete != 0 || g.Unread != 0 {
		t.Errorf("%+v", g)
	}
	var w bytes.Buffer
	if err := b.Write(&w, noNames{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	prof, err := pprof.Parse(&w)
	if err != nil {
		t.Fatal(err)
	}
	return prof
}

// withAwaiter appends the frames of the task that awaits it, if it is only one.
func withAwaiter(truth map[string]*task, name string, frames []string) []string {
	var by []string
	n := 0
	for _, k := range truth {
		if slices.Contains(k.names, name) {
			by, n = k.frames, n+1
		}
	}
	if n != 1 {
		return frames
	}
	return slices.Concat(frames, by)
}

func TestARecordingHasTheTasksThatTheInterpreterKnows(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			pid, truth := launchTasks(t, exe)
			testtargets.Asleep(t, pid)
			want, got := map[string]int{}, map[string]int{}
			for name, k := range truth {
				want[name+" "+strings.Join(withAwaiter(truth, name, k.frames), " ")]++
			}
			extra := 0
			for _, s := range recordTasks(t, pid).Sample {
				if l := s.Label[profile.LabelTask]; len(l) == 0 || l[0] != languages.CoroutineTask {
					continue
				}
				var fs []string
				for _, l := range s.Location {
					fs = append(fs, fmt.Sprintf("%s:%d", l.Line[0].Function.Name, l.Line[0].Line))
				}
				if s.Value[0] != 0 || s.Value[1] <= 0 || len(s.Label[profile.LabelWait]) == 0 || len(s.NumLabel["tid"]) != 0 {
					t.Errorf("%v: %v %v", fs, s.Value, s.Label)
				}
				if key := strings.Join(append(s.Label["task name"], fs...), " "); want[key] > 0 {
					got[key]++
				} else {
					extra++
				}
			}
			if !maps.Equal(got, want) || extra != 1 {
				t.Errorf("%d others; recorded %v\nwant %v", extra, got, want)
			}
		})
	}
}
