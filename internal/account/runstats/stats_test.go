// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/host/cgroup"
)

func TestLongStopsAreReportedByCause(t *testing.T) {
	for _, c := range []struct {
		long       Causes
		json, line string
	}{
		{Causes{"copy": {N: 3, Max: 412_500}, "lock": {N: 5, Max: 2_000_000}},
			`{"copy":{"n":3,"max_us":412.5},"lock":{"n":5,"max_us":2000}}`, ", long stops by cause (lock 5, copy 3); "},
		{nil, `{}`, ""},
	} {
		s := &Stats{}
		s.Stops, s.LongStops, s.LateStops = 10, c.long, LongEvents{N: 4, Max: 300_500}
		var out bytes.Buffer
		if err := WriteJSON(&out, s); err != nil {
			t.Fatal(err)
		}
		type late struct {
			N   int64   `json:"n"`
			Max float64 `json:"max_us"`
		}
		var got struct {
			Long json.RawMessage `json:"long_stops"`
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
		if line := CommentLine(s); !strings.Contains(line, c.line) || strings.Contains(line, "by cause") != (c.line != "") {
			t.Errorf("%q is not in %q", c.line, line)
		}
	}
}

func TestBothCausesOfUnopenedProcessesAreNamed(t *testing.T) {
	const want = "3 started processes not opened (too many open files in prywalk: raise its limit, ulimit -n 4096; " +
		"or too many processes started at once)"
	s := &Stats{}
	s.Unopened = 3
	if line := CommentLine(s); !strings.Contains(line, want) {
		t.Errorf("%q is not in %q", want, line)
	}
}

func TestTheEngineIsInTheAccountAlone(t *testing.T) {
	const note = "1 Python, PHP or Ruby program, whose frames are outside of the stack"
	for engine, want := range map[string]string{
		"": "not sampled", "perf": "sampled by the kernel (perf events)",
		"ptrace": "sampled by stopping threads (" + note + ")",
	} {
		s := &Stats{}
		if s.Engine = engine; engine == "ptrace" {
			s.FallbackNote = note
		}
		if full := CommentLine(s); !strings.HasSuffix(full, "; "+want) {
			t.Errorf("%q: %q", engine, full)
		}
		for _, line := range []string{overhead(s), ClosingLine(s, "p.pb.gz")} {
			if strings.Contains(line, "engine") || strings.Contains(line, "sampled by") || strings.Contains(line, note) {
				t.Errorf("%q: %q", engine, line)
			}
		}
	}
}

func TestTheClosingLine(t *testing.T) {
	s := &Stats{}
	s.Samples, s.ThreadsMax, s.Seconds, s.Freq, s.SelfCPU, s.ProfiledCPU = 4848, 5, 10, 98.8, 0.23, 9
	const stopped = "4848 samples of up to 5 threads in 10.0 s at 98.8/s, 100% of CPU time with complete stacks; " +
		"overhead: stops ≤ 110 µs (p99 102 µs), prywalk used 0.23 s CPU → p.pb.gz"
	const sampled = "4848 samples of up to 5 threads in 10.0 s at 98.8/s, 100% of CPU time with complete stacks; " +
		"overhead: no thread was stopped, prywalk used 0.23 s CPU → p.pb.gz"
	if notes := FirstNotes(Losses(s)); len(notes) != 0 {
		t.Errorf("a run like most has notes: %q", notes)
	}
	if got := ClosingLine(s, "p.pb.gz"); got != sampled {
		t.Errorf("%q, want %q", got, sampled)
	}
	s.Stops, s.StopTime.Max, s.StopTime.P99 = 417, 110_000, 102_000
	if got := ClosingLine(s, "p.pb.gz"); got != stopped {
		t.Errorf("%q, want %q", got, stopped)
	}
}

func TestALongStopIsANoteWithCauseAndRemedy(t *testing.T) {
	s := &Stats{}
	s.Stops, s.StopTime.Max, s.LongestStop.TID, s.Scheduling = 417, 49_000_000, 7, "nice"
	s.LongStops = Causes{"preempted": {N: 1, Max: 800_000_000}, "copy": {N: 2, Max: 90_000_000},
		"turn": {N: 1, Max: 70_000_000}, "lock": {N: 1, Max: 65_000_000}, "stolen": {N: 1, Max: 55_000_000}}
	if notes := FirstNotes(Losses(s)); len(notes) != 0 {
		t.Errorf("a stop of 49 ms: %q", notes)
	}
	for _, c := range []struct {
		ns         Nanos
		scheduling string
		want       string
	}{
		{800_000_000, "nice", "800 ms (thread 7, cause: preempted); root or CAP_SYS_NICE gives prywalk a real-time priority"},
		{800_000_000, "fifo", "800 ms (thread 7, cause: preempted); prywalk report --account counts long stops by cause"},
		{90_000_000, "nice", "90 ms (thread 7, cause: copy); without --max-pause off, stops that are " +
			"expected to take over 1 ms are left out"},
		{70_000_000, "nice", "70 ms (thread 7, cause: turn); it waited until prywalk had finished another thread; " +
			"a lower -F makes that rarer"},
		{65_000_000, "nice", "65 ms (thread 7, cause: lock); the target's mappings were locked, as by mmap; " +
			"without --max-pause off this wait is limited"},
		{55_000_000, "nice", "55 ms (thread 7, cause: stolen); the hypervisor ran other guests; " +
			"a host that is not shared has no such stops"},
		{60_000_000, "nice", "60 ms (thread 7, cause: not known); prywalk report --account counts long stops by cause"},
	} {
		s.StopTime.Max, s.Scheduling = c.ns, c.scheduling
		if notes := FirstNotes(Losses(s)); len(notes) != 1 || notes[0] != "note: longest stop "+c.want {
			t.Errorf("%q, want %q", notes, c.want)
		}
		_, cause, _ := strings.Cut(c.want, "cause: ")
		cause, _, _ = strings.Cut(cause, ")")
		if got := longestStop(s); cause != "not known" && !strings.Contains(got, ", cause: "+cause+")") {
			t.Errorf("report --account: %q; want the note's cause, %s", got, cause)
		}
	}
	s.StopTime.Max, s.LongestGap = 65_000_000, 0.06
	if note := Losses(s)[0]; !strings.HasSuffix(note, "; prywalk was stopped by SIGSTOP (use Ctrl-Z or kill -TSTP, which "+
		"release threads first), or the target's mappings were locked, as by mmap") {
		t.Errorf("a gap as long as the stop: %q", note)
	}
	s.MaxPause, s.LongestGap = 1e6, 0
	for _, ns := range []Nanos{90_000_000, 65_000_000} {
		if s.StopTime.Max = ns; !strings.HasSuffix(Losses(s)[0], "; prywalk report --account counts long stops by cause") {
			t.Errorf("with --max-pause: %q", FirstNotes(Losses(s)))
		}
	}
}

func TestARunHasAtMostTwoNotes(t *testing.T) {
	s := filled()
	s.ProfiledCPU = 100
	if notes := FirstNotes(Losses(s)); len(notes) != maxNotes {
		t.Errorf("%d notes: %q", len(notes), notes)
	}
}

func TestNotesOnMostTimeAreFirst(t *testing.T) {
	const (
		failed = "note: 1,027 samples failed (max-pause 1,027); give a longer --max-pause"
		few    = "note: incomplete stacks: 1.4% of CPU time in [incomplete: bad-memory]: …"
		some   = "note: 15.2% of CPU time has no function: …"
		cut    = "Incomplete stacks: 56.0% of cpu in [incomplete: stack-cut]: …"
		remedy = "[memfd:vmem]: code compiled by the BEAM JIT, without symbols. To get names: start it with erl +JPperf true."
		kinds  = "Time without a function: 58% [memfd:vmem]: …"
		client = AtTheEnd + "beam.smp (pid 7): 1 client connection: data came, none sent back for at least 15.9 s"
	)
	for _, c := range [][]string{
		{client, remedy, failed, few, some, client, remedy, kinds},
		{cut, remedy, failed, some, cut, remedy},
		{remedy, some, some, few, remedy, kinds},
		{few, failed, failed, few, kinds},
	} {
		if got := FirstNotes(c[2:]); !slices.Equal(got, c[:2]) {
			t.Errorf("%q, want %q", got, c[:2])
		}
	}
}

func TestACommandThatEndedBeforeItsFirstSample(t *testing.T) {
	s := &Stats{}
	s.ProfiledCPU, s.FreqAsked = 0.0032, 99
	const want = "command exited after 3.2 ms of CPU, before the first sample; try -F 1000 → p.pb.gz"
	if got := TooShortLine(s, "p.pb.gz"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Failed = map[string]int64{"max-pause": 196}
	const refused = "command exited after 3.2 ms of CPU, without a sample: stops were expected to take longer than " +
		"--max-pause (max-pause 196); give a longer --max-pause → p.pb.gz"
	if got := TooShortLine(s, "p.pb.gz"); got != refused {
		t.Errorf("%q, want %q", got, refused)
	}
	s.Failed = map[string]int64{"map-lock": 2, "exited": 3}
	const locked = "command exited after 3.2 ms of CPU, without a sample: all observations failed (exited 3, " +
		"map-lock 2); another thread holds the lock of the process's mappings; try again → p.pb.gz"
	if got := TooShortLine(s, "p.pb.gz"); got != locked {
		t.Errorf("%q, want %q", got, locked)
	}
}

func TestUnobservedThreadsAreReportedOnce(t *testing.T) {
	const reported = "of CPU time is not attributed to a function"
	for _, c := range []struct {
		children, threads, all, programs float64
		want                             string
	}{
		{0.9, 0.03, 1.5, 0, "0.93 s of 1.50 s of CPU time is not attributed to a function (0.90 s in short-lived children, " +
			"0.03 s in threads that exited before a sample: a higher -F samples more of them)"},
		{0.9, 0.03, 1.5, 0.81, "0.93 s of 1.50 s of CPU time is not attributed to a function " +
			"(0.90 s in short-lived children, 90.0% of it known by program, 0.03 s in threads that exited before a sample: " +
			"a higher -F samples more of them)"},
		{0, 0.5, 1, 0, "0.50 s of 1.00 s of CPU time is not attributed to a function (0.00 s in short-lived children, " +
			"0.50 s in threads that exited before a sample: a higher -F samples more of them)"},
		{0.02, 0.02, 0.1, 0, ""},
		{0.1, 0, 10, 0, ""},
		{0, 0, 0, 0, ""},
	} {
		s := &Stats{}
		s.Samples, s.ProfiledCPU, s.ShortLivedCPU, s.ExitedUnseenCPU = 10, c.all, c.children, c.threads
		s.ProgramCPU = c.programs
		for _, line := range []string{said(s), CommentLine(s)} {
			n := min(1, len(c.want))
			if strings.Count(line, reported) != n || !strings.Contains(line, c.want) || strings.Contains(line, "\n") {
				t.Errorf("%q does not say %q %d times", line, c.want, n)
			}
		}
	}
}

func TestLostSamplesAreReported(t *testing.T) {
	for lost, want := range map[int64]string{
		0: "", 1: ", up to 1 sample lost (buffers were full or malformed: a lower -F, or CAP_IPC_LOCK, loses fewer)",
		38485: ", up to 38485 samples lost (buffers were full or malformed: a lower -F, or CAP_IPC_LOCK, loses fewer)",
	} {
		s := &Stats{}
		s.Engine, s.LostSamples = "perf", lost
		if line := CommentLine(s); !strings.HasSuffix(line, "; sampled by the kernel (perf events)"+want) {
			t.Errorf("%d: %q", lost, line)
		}
	}
}

func TestALossOfFewSamplesIsNoNote(t *testing.T) {
	for lost, want := range map[int64]int{0: 0, 9: 0, 10: 1} {
		s := &Stats{}
		s.KernelSampled, s.LostSamples = 1000, lost
		if notes := Losses(s); len(notes) != want {
			t.Errorf("%d of 1000 samples lost: %q, want %d notes", lost, notes, want)
		}
	}
}

func TestReasonsHaveOneOrder(t *testing.T) {
	counts := map[string]int64{"a": 2, "b": 2, "c": 2, "d": 2, "e": 7}
	for range 20 {
		if got := Reasons(counts); got != " (e 7, a 2, b 2, c 2, d 2)" {
			t.Fatal(got)
		}
	}
}

// Half a year of CPU time, ns.
func TestPercentOfLongTimes(t *testing.T) {
	const whole = 180 * 24 * 3600 * 1e9
	for part, want := range map[int64]string{whole: "100%", whole - 1: "99.9%", whole / 2: "50.0%", 0: "0.0%"} {
		if got := Percent(part, whole); got != want {
			t.Errorf("%d of %d: %s, want %s", part, int64(whole), got, want)
		}
	}
}

func TestThrottlingOfOnePercentIsReported(t *testing.T) {
	s := &Stats{}
	s.Seconds = 10
	s.TargetQuotas = []cgroup.Throttling{
		{PID: 7, Cgroup: "/cg/a", CPUs: 0.25, Periods: 100, ThrottledPeriods: 40, Seconds: 2.52},
		{PID: 9, Cgroup: "/cg/b", CPUs: 128, Periods: 100, ThrottledPeriods: 99, Seconds: 252},
		{PID: 8, CPUs: 4, Periods: 100, ThrottledPeriods: 1, Seconds: 0.09},
	}
	const want = "process 7: its cgroup /cg/a was throttled for 2.5 s, in 40 of 100 periods, as its CPU quota of " +
		"0.25 CPUs was used up; this counts as run queue time; a larger quota or fewer threads help"
	const large = "process 9: its cgroup /cg/b was throttled for 252.0 s, in 99 of 100 periods, as its CPU quota of 128 "
	if lines := TargetGroups(s); len(lines) != 2 || lines[0] != want || !strings.HasPrefix(lines[1], large) {
		t.Errorf("%q, want %q", lines, want)
	}
}

func TestFrozenTargetsAreNamedWithTheTime(t *testing.T) {
	s := &Stats{FrozenTargets: []FrozenTarget{
		{PID: 7, Cgroup: "/cg/a", AtStart: true, AtEnd: true}, {PID: 8, Cgroup: "/cg/b", AtStart: true},
		{PID: 9, Cgroup: "/cg/c", AtEnd: true}, {PID: 10, Cgroup: "/cg/d"},
		{PID: 11, Cgroup: "/cg/d"}, {PID: 13, Cgroup: "/cg/d"}, {PID: 12, Cgroup: "/cg/c"},
	}}
	want := []string{
		"process 7: its cgroup /cg/a was frozen (as by docker pause) when the recording began and when it ended",
		"process 8: its cgroup /cg/b was frozen (as by docker pause) when the recording began",
		"process 9: its cgroup /cg/c was frozen (as by docker pause) when the recording ended",
		"process 10 and 2 others: their cgroup /cg/d was frozen (as by docker pause) for a part of the recording: their " +
			"threads did not run then",
		"process 12: its cgroup /cg/c was frozen (as by docker pause) for a part of the recording",
	}
	for i := range want {
		if !strings.HasSuffix(want[i], "then") {
			want[i] += ": its threads did not run then"
		}
		want[i] += "; let it run (prywalk doctor -p PID says how), and record again"
	}
	if got := TargetGroups(s); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTimesHaveOneUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 999_600: "1 ms", 1_234_567: "1.23 ms", 59_940_000_000: "59.9 s", 59_960_000_000: "60 s",
		125_300_000_000: "125 s", 3_600_000_000_000: "3600 s",
	} {
		if got := formatTime(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}
