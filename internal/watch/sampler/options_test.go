// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/target"
)

func TestThreadsAreSelectedByName(t *testing.T) {
	program := start(t, "mixed", "5")
	r := record(t, target.SamplingOptions{Threads: regexp.MustCompile("^sleeper-[12]$")}, 500*time.Millisecond, nil,
		program.pid)
	if r.ThreadsMax != 2 {
		t.Errorf("%d threads", r.ThreadsMax)
	}
	for _, s := range r.Sample {
		if !strings.HasPrefix(label(s, "thread"), "sleeper-") {
			t.Errorf("%v of %v", stack(s), s.Label)
		}
	}
}

func TestNameThatComesLateIsFound(t *testing.T) {
	program := start(t, "late", "4")
	late := func(r *recorded) bool {
		seen := map[string]bool{}
		for _, s := range r.Sample {
			seen[label(s, "thread")] = true
		}
		return seen["late-0"] && seen["late-1"] && seen["late-2"] && seen["late-3"]
	}
	recordUntil(t, target.SamplingOptions{}, late, program.pid)
	program = start(t, "late", "4")
	r := recordUntil(t, target.SamplingOptions{Threads: regexp.MustCompile("^late-")}, late, program.pid)
	if r.ThreadsMax != 4 {
		t.Errorf("%d threads were selected", r.ThreadsMax)
	}
}

func TestTimeOfASelectedThreadBeforeTheRecordingIsNotAttributed(t *testing.T) {
	program := start(t, "renames")
	cpu := func() float64 {
		ns, err := procmem.ProcessCPU(program.pid)
		if err != nil {
			t.Error(err)
		}
		return seconds(time.Duration(ns))
	}
	await(t, "it has run", func() bool { return cpu() > 0.5 })
	before := cpu()
	sampled := func(r *recorded) bool { return len(r.Sample) > 0 }
	r := recordDuring(t, target.SamplingOptions{Threads: regexp.MustCompile("^other$")}, sampled, func(s *Sampler) {
		await(t, "it is sampled", func() bool { return s.Progress().Tracer.Ticks > 3 })
		program.signal(t, unix.SIGUSR1)
	}, program.pid)
	if most := cpu() - before; r.ProfiledCPU == 0 || r.ProfiledCPU > most {
		t.Errorf("%v s attributed, in %v s of CPU time", r.ProfiledCPU, most)
	}
}

func TestMaxDepthCutsAndSaysSo(t *testing.T) {
	program := start(t, "mixed", "2")
	r := record(t, target.SamplingOptions{MaxDepth: 1}, 300*time.Millisecond, nil, program.pid)
	for _, s := range r.Sample {
		st := stack(s)
		if st[0] == attribute.ExitedUnseen || st[0] == attribute.NotObserved {
			continue
		}
		places := len(s.Location)
		if st[0] == attribute.RanBetweenTicks || st[0] == attribute.BlockedBetweenTicks {
			places--
		}
		if places != 2 || st[len(st)-1] != "[incomplete: depth]" {
			t.Errorf("%v", st)
		}
	}
	if r.Incomplete["depth"] == 0 {
		t.Errorf("%v", r.Incomplete)
	}
}

// 12,000 frames, more than a megabyte: only the first copy may be too short.
func TestDeepStacksAreWhole(t *testing.T) {
	const depth = 12000
	program := start(t, "deep", strconv.Itoa(depth))
	r := recordUntil(t, target.SamplingOptions{MaxDepth: 2 * depth}, func(r *recorded) bool {
		seen := map[string]int{}
		for _, s := range r.Sample {
			if len(s.Location) > depth {
				seen[label(s, "thread")]++
			}
		}
		return seen["deep-s-0"] >= 2 && seen["deep-b-0"] >= 20
	}, program.pid)
	for _, thread := range []string{"deep-s-0", "deep-b-0"} {
		firstWhole, lastCut := int64(math.MaxInt64), int64(0)
		for _, s := range r.Sample {
			if label(s, "thread") != thread {
				continue
			}
			frames := stack(s)
			if frames[0] == attribute.NotObserved {
				continue
			}
			calls := 0
			for _, f := range frames {
				if f == "deep" {
					calls++
				}
			}
			end := s.NumLabel["end_timestamp_ns"][0]
			switch last := frames[len(frames)-1]; {
			case last == "[incomplete: stack-cut]":
				lastCut = max(lastCut, end)
			case calls != depth:
				t.Errorf("%s: %d calls of %d in %d frames, then %s", thread, calls, depth, len(frames), last)
			default:
				firstWhole = min(firstWhole, end)
			}
		}
		if firstWhole == math.MaxInt64 || lastCut >= firstWhole {
			t.Errorf("%s: the first that is whole ends at %d, the last that is cut at %d", thread, firstWhole, lastCut)
		}
	}
}

func TestCPUTimeOfThreadsThatMayNotBeStoppedIsInNoFunction(t *testing.T) {
	program := start(t, "bursts", "1")
	enough := func(s *Sampler) bool { return s.Progress().Tracer.Failed > 300 }
	r := run(t, target.SamplingOptions{MaxPause: 1, Freq: 999}, enough, nil, program.pid)
	notObserved, functions := int64(0), int64(0)
	for _, s := range r.Sample {
		if frames := stack(s); len(frames) == 1 && frames[0] == attribute.NotObserved {
			notObserved += s.Value[3]
		} else {
			functions += s.Value[3]
		}
	}
	t.Logf("%d ns are %s, %d in stacks of sleeps", notObserved, attribute.NotObserved, functions)
	if notObserved < 100*functions {
		t.Errorf("%d ns are %s, %d in stacks of sleeps", notObserved, attribute.NotObserved, functions)
	}
}
