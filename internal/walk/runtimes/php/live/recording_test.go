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
	"prywalk/internal/watch/target"
)

func record(t *testing.T, pid int, stops int64) *pprof.Profile {
	t.Helper()
	return observed.Record(t, pid, observed.Recording{
		Options: target.SamplingOptions{Freq: 999}, Stops: stops, Stamped: true, Kill: true,
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

// tally counts ticks, and observations: a stack that stays is one observation at several ticks.
type tally struct {
	samples, frames, without, cut, freed, wrong int64
	observations, lacking                       int
}

func (t *tally) add(s *pprof.Sample) (wrongs string) {
	list, n := ofSample(s), s.Value[0]
	t.samples += n
	t.frames += n * int64(len(list))
	if n > 0 {
		t.observations++
	}
	if len(list) == 0 {
		t.without += n
		t.lack(n)
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
		t.lack(n)
		return ""
	default:
		t.wrong += n
		for _, f := range list {
			wrongs += "\n" + f.Function + ":" + strconv.Itoa(f.Line)
		}
	}
	return wrongs
}

func (t *tally) lack(n int64) {
	if n > 0 {
		t.lacking++
	}
}

// recordedStops is the number of stops of a recording: PRYWALK_RECORD, else some.
func recordedStops(some int64) int64 {
	if n, err := strconv.ParseInt(os.Getenv("PRYWALK_RECORD"), 10, 64); err == nil {
		return n
	}
	return some
}

// tallies are of all samples, and of those after the first quarter.
func tallies(t *testing.T, prof *pprof.Profile) (all, later tally) {
	t.Helper()
	for _, s := range prof.Sample {
		if w := all.add(s); w != "" {
			t.Error(w)
		}
	}
	for _, s := range settled(prof) {
		later.add(s)
	}
	t.Logf("all: %+v, after the first quarter: %+v", all, later)
	return all, later
}

// Samples may lack calls, by the moments of the stops; no others may be there.
func TestRecordingsHaveTheCallsOfTheProgram(t *testing.T) {
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			all, _ := tallies(t, record(t, php.start(t, "chain.php", "600"), recordedStops(400)))
			if all.frames == 0 {
				t.Errorf("%d samples have no frames", all.samples)
			}
		})
	}
}

// The program's loop takes less time than passes between two stops, and the times of the stops are jittered.
func TestStatisticalFewSamplesOfARecordingLackCalls(t *testing.T) {
	list := interpreters(t)
	for _, php := range list {
		t.Run(php.name, func(t *testing.T) {
			_, later := tallies(t, record(t, php.start(t, "chain.php", "600"), recordedStops(400)))
			testtargets.AtMost(t, "observations have not all frames", later.lacking, later.observations, 1./20, len(list))
		})
	}
}

// inExpressions counts the observations in code of expressions, and those with all callers.
func inExpressions(t *testing.T, php interpreter) (made, whole int) {
	t.Helper()
	const want = "matched matches expressions.php"
	for _, s := range settled(record(t, php.start(t, "expressions.php", "600"), 400)) {
		if m := s.Location[0].Mapping; m == nil || m.File != "[anon]" || s.Value[0] == 0 {
			continue
		}
		var names []string
		for _, f := range ofSample(s) {
			names = append(names, f.Function)
		}
		made++
		if strings.TrimPrefix(strings.Join(names, " "), "preg_match ") == want {
			whole++
		}
	}
	t.Logf("%d of %d observations in code of expressions have all callers", whole, made)
	return made, whole
}

func TestCodeOfExpressionsHasItsCallers(t *testing.T) {
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			if made, whole := inExpressions(t, php); whole == 0 {
				t.Errorf("%d observations in code of expressions lack callers", made)
			}
		})
	}
}

// The code has no unwind tables. Whether its instructions show the caller depends on the one that a stop finds.
func TestStatisticalMostCodeOfExpressionsHasItsCallers(t *testing.T) {
	list := interpreters(t)
	for _, php := range list {
		t.Run(php.name, func(t *testing.T) {
			made, whole := inExpressions(t, php)
			testtargets.AtMost(t, "observations in code of expressions lack callers", made-whole, made, 1./4, len(list))
		})
	}
}
