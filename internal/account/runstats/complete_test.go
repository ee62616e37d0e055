// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"strings"
	"testing"
	"time"
)

func said(s *Stats) string {
	return strings.Join(append(FirstNotes(Losses(s)), ClosingLine(s, "p.pb.gz")), " | ")
}

// 39,000 of 40,000 samples are of sleepers with complete stacks; a quarter of the CPU time is under incomplete ones.
func TestTheClosingLineCountsCPUTimeAndNotSleepers(t *testing.T) {
	s := &Stats{}
	s.Samples, s.Complete, s.ProfiledCPU = 40_000, 39_750, 10
	s.IncompleteCPU = map[string]float64{"bad-memory": 2, "depth": 0.5}
	line := said(s)
	for _, want := range []string{
		"75.0% of CPU time with complete stacks", "incomplete stacks: 20.0% of CPU time in [incomplete: bad-memory]: ",
		"prywalk help names",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	if full := CommentLine(s); !strings.Contains(full, "75.0% of CPU time with complete stacks") {
		t.Errorf("the recording's line: %q", full)
	}
	s.IncompleteCPU = map[string]float64{"depth": 0.001}
	if line := said(s); !strings.Contains(line, "99.9% of CPU time") || strings.Contains(line, "depth") {
		t.Errorf("%q", line)
	}
	s.IncompleteCPU = nil
	if line := ClosingLine(s, "p.pb.gz"); !strings.Contains(line, "100% of CPU time with complete stacks") {
		t.Errorf("%q", line)
	}
	s.UnobservedCPU = 10 // record --engine ptrace --max-pause 1us
	line = ClosingLine(s, "p.pb.gz")
	if !strings.Contains(line, "no CPU time was sampled") || strings.Contains(line, "100%") {
		t.Errorf("%q", line)
	}
	s.UnobservedCPU, s.KernelCPU = 0, 4
	line = ClosingLine(s, "p.pb.gz")
	if !strings.Contains(line, "100% of sampled CPU time with complete stacks, 40.0% of CPU time without a sample") {
		t.Errorf("[kernel] has no stack: %q", line)
	}
}

func TestOfTargetsThatHardlyRunTheShareOfSamplesIsShown(t *testing.T) {
	for _, c := range []struct {
		cpu  float64
		want string
	}{
		{0.02, "100% of samples with complete stacks"},
		{0.06, "100% of samples with complete stacks"}, // prywalk demo: six samples at most
		{0.21, "100% of sampled CPU time with complete stacks, 50.0% of CPU time without a sample"},
	} {
		s := &Stats{}
		s.Freq, s.Seconds, s.Samples, s.Complete, s.ProfiledCPU, s.UnobservedCPU = 99, 3, 300, 300, c.cpu, c.cpu/2
		if line := ClosingLine(s, "p.pb.gz"); !strings.Contains(line, c.want) {
			t.Errorf("%v s of CPU time: %q, want %q", c.cpu, line, c.want)
		}
	}
}

func TestNoNoteIsOnCPUTimeOfTargetsThatHardlyRun(t *testing.T) {
	for cpu, want := range map[float64]int{0.19: 0, 0.35: 1} {
		s := &Stats{}
		s.Freq, s.FreqAsked, s.Seconds, s.ProfiledCPU, s.UnobservedCPU, s.TicksWithheld = 30, 99, 3, cpu, 0.7*cpu, 31
		if notes := Losses(s); len(notes) != want {
			t.Errorf("%v s of CPU time: %q, want %d notes", cpu, notes, want)
		}
	}
}

// Nine of ten seconds have no sample, of the rest a half is cut.
func TestTimeBetweenSamplesIsNotCalledComplete(t *testing.T) {
	s := &Stats{}
	s.Samples, s.Complete, s.ProfiledCPU, s.UnobservedCPU = 40, 40, 10, 9
	s.IncompleteCPU = map[string]float64{"depth": 0.5}
	const share = "50.0% of sampled CPU time with complete stacks, 90.0% of CPU time without a sample"
	s.FreqAsked = 99
	for _, c := range []struct {
		failed      map[string]int64
		withheld    int64
		maxOverhead float64
		why         string
	}{
		{nil, 0, 0, "note: 90.0% of CPU time has no function: prywalk report --by thread --focus"},
		{map[string]int64{"traced": 31}, 0, 0,
			"has no function: another tracer had threads (observations refused: 31); detach"},
		{nil, 31, 0.01, "has no function: 31 sampling ticks left out, as the targets had lost 1% of their CPU time " +
			"(--max-overhead); as root or with CAP_SYS_NICE (root in a container: --cap-add=SYS_NICE) stops are shorter"},
		{nil, 0, 0.001, "has no function: --max-overhead 0.1% lowered the rate; as root"},
		{map[string]int64{"max-pause": 1}, 0, 0,
			"has no function: 1 stop left out, as expected to take over 1ms (--max-pause); as root or with CAP_SYS_NICE"},
		{map[string]int64{"traced": 1}, 500, 0.01, "has no function: 500 sampling ticks left out"},
		{map[string]int64{"traced": 1, "max-pause": 9}, 5, 0.01, "has no function: 9 stops left out"},
	} {
		s.MaxPause = Nanos(time.Millisecond)
		s.Failed, s.TicksWithheld, s.MaxOverhead = c.failed, c.withheld, c.maxOverhead
		if line := said(s); !strings.Contains(line, share) || !strings.Contains(line, c.why) {
			t.Errorf("%q lacks %q or %q", line, share, c.why)
		}
	}
	s.Scheduling = "fifo"
	if line := said(s); !strings.Contains(line, "(--max-pause); --max-pause off lifts the limit; prywalk dump --merge") {
		t.Errorf("with a priority: %q", line)
	}
	s.Failed, s.TicksWithheld, s.MaxOverhead, s.MaxPause, s.Scheduling = nil, 0, 0, 0, ""
	for _, c := range []struct {
		notObserved, seconds float64
		scheduling, why      string
	}{
		{9, 10, "normal", "the host was too busy for prywalk for 9.0 s, or it was stopped; give it a spare CPU, or " +
			"CAP_SYS_NICE |"},
		{9, 10, "fifo", "the host was too busy for prywalk for 9.0 s, or it was stopped; give it a spare CPU |"},
		{2, 4, "nice", "the host was too busy for prywalk for 2.0 s, or it was stopped; give it a spare CPU, or " +
			"CAP_SYS_NICE |"},
		{0.06, 10, "normal", "prywalk report --by thread --focus"},
		{4, 10, "fifo", "prywalk report --by thread --focus"},
	} {
		s.NotObserved, s.Seconds, s.Scheduling = c.notObserved, c.seconds, c.scheduling
		if line := said(s); !strings.Contains(line, "has no function: "+c.why) {
			t.Errorf("%+v: %q", c, line)
		}
	}
	s.ShortLivedCPU = 9
	if line := said(s); strings.Contains(line, "has no function") {
		t.Errorf("%q", line)
	}
}

// That ptrace sampled asks for nothing: only report --account says so.
func TestWhyStopsWereUsedIsNoNote(t *testing.T) {
	s := &Stats{Observed: Observed{Engine: "perf, then ptrace", FallbackNote: "sampled by stops: deep stacks"}}
	if line := said(s); strings.Contains(line, s.FallbackNote) || !strings.Contains(CommentLine(s), s.FallbackNote) {
		t.Errorf("%s", line)
	}
}

// Half of the sampled time and half of the time between samples are under incomplete stacks.
func TestIncompleteStacksBetweenSamplesDoNotCountAsSampled(t *testing.T) {
	s := &Stats{}
	s.ProfiledCPU, s.UnobservedCPU = 100, 60
	s.IncompleteCPU = map[string]float64{"no-rule": 50}
	s.IncompleteUnobservedCPU = map[string]float64{"no-rule": 30}
	const want = "50.0% of sampled CPU time with complete stacks, 60.0% of CPU time without a sample"
	if got := completeCPU(s); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestStopsThatTheLimitLeftOutAreNotedOnce(t *testing.T) {
	for _, c := range []struct {
		failed     map[string]int64
		unobserved float64
		want       string
	}{
		{map[string]int64{"max-pause": 2}, 0, "note: 2 stops left out, as expected to take over 1ms (--max-pause); as root"},
		{map[string]int64{"max-pause": 2}, 9, "note: 90.0% of CPU time has no function: 2 stops left out, as expected"},
		{map[string]int64{"max-pause": 2, "timeout": 1}, 0, "note: 3 samples failed (max-pause 2, timeout 1)"},
	} {
		s := &Stats{}
		s.Attempted, s.Failed, s.MaxPause = 9, c.failed, Nanos(time.Millisecond)
		s.ProfiledCPU, s.UnobservedCPU = 10, c.unobserved
		if notes := Losses(s); len(notes) != 1 || !strings.HasPrefix(notes[0], c.want) {
			t.Errorf("%+v: %q", c, notes)
		}
	}
}
