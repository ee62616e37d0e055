// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/show/dump/stacks"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/watch/sampler"
)

func record(t *testing.T, pid int, stops int64) *pprof.Profile {
	t.Helper()
	return observed.Record(t, pid, observed.Recording{
		Options: sampler.Options{Freq: 999}, Stops: stops, Stamped: true, Kill: true,
	})
}

func ofSample(s *pprof.Sample) (list []*stacks.Frame) {
	for _, l := range s.Location {
		if l.Mapping == nil || !strings.HasPrefix(l.Mapping.File, "[PHP ") {
			continue
		}
		for _, ln := range l.Line {
			list = append(list, &stacks.Frame{Place: &stacks.Place{Function: ln.Function.Name, File: ln.Function.Filename,
				Line: int(ln.Line)}})
		}
	}
	return list
}

func settled(prof *pprof.Profile) []*pprof.Sample {
	end := func(s *pprof.Sample) int64 { return s.NumLabel[rec.LabelEnd][0] }
	list := slices.SortedFunc(slices.Values(prof.Sample), func(a, b *pprof.Sample) int {
		return cmp.Compare(end(a), end(b))
	})
	first, last := end(list[0]), end(list[len(list)-1])
	i, _ := slices.BinarySearchFunc(list, first+(last-first)/4, func(s *pprof.Sample, at int64) int {
		return cmp.Compare(end(s), at)
	})
	for ; i < len(list) && len(ofSample(list[i])) == 0; i++ {
	}
	return list[i:]
}

type tally struct{ samples, frames, without, cut, freed, wrong int64 }

func (t *tally) add(s *pprof.Sample) (wrongs string) {
	list, n := ofSample(s), s.Value[0]
	t.samples += n
	t.frames += n * int64(len(list))
	if len(list) == 0 {
		t.without += n
		return ""
	}
	for _, f := range list {
		if f.Function == "[freed]" {
			t.freed += n
		}
	}
	wrongs = wrong(list)
	switch {
	case wrongs == "":
	case strings.HasSuffix(wrongs, `is called by ""`):
		t.cut += n
		return ""
	default:
		t.wrong += n
		for _, f := range list {
			wrongs += "\n" + f.Function + ":" + strconv.Itoa(f.Line)
		}
	}
	return wrongs
}

// How many samples lack calls depends on the moments of the stops; no others may be there. PRYWALK_RECORD is the
// number of stops.
func TestRecordingsHaveTheCallsOfTheProgram(t *testing.T) {
	stops := int64(400)
	if n, err := strconv.ParseInt(os.Getenv("PRYWALK_RECORD"), 10, 64); err == nil {
		stops = n
	}
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			prof := record(t, php.start(t, "chain.php", "600"), stops)
			var all, later tally
			for _, s := range prof.Sample {
				if w := all.add(s); w != "" {
					t.Error(w)
				}
			}
			for _, s := range settled(prof) {
				later.add(s)
			}
			t.Logf("all: %+v, after the first quarter: %+v", all, later)
			testtargets.AtMost(t, "samples have not all frames", int(later.without+later.cut), int(later.samples), 1./20)
		})
	}
}

func TestCodeOfExpressionsHasItsCallers(t *testing.T) {
	const want = "matched matches expressions.php"
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			prof := record(t, php.start(t, "expressions.php", "600"), 400)
			made, whole := int64(0), int64(0)
			for _, s := range settled(prof) {
				if m := s.Location[0].Mapping; m == nil || m.File != "[anon]" {
					continue
				}
				var names []string
				for _, f := range ofSample(s) {
					names = append(names, f.Function)
				}
				made += s.Value[0]
				if strings.TrimPrefix(strings.Join(names, " "), "preg_match ") == want {
					whole += s.Value[0]
				}
			}
			t.Logf("%d of %d samples in code of expressions have all callers", whole, made)
			if whole == 0 {
				t.Errorf("%d samples in code of expressions lack callers", made)
			}
			testtargets.AtMost(t, "samples in code of expressions lack callers", int(made-whole), int(made), 1./4)
		})
	}
}
