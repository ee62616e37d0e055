// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/base/sample"
)

// Streams in testdata are made by prywalk record --event-log FILE.
var update = flag.Bool("update", false, "write the .want files of the recorded streams")

// sums is a Sink that sums times of equal intervals, and collects impossible ones in bad.
type sums struct {
	functions map[sample.StackID][]string // by [WriteStack], innermost first
	of        map[string][4]int64
	cpu       int64
	procs     map[sample.ProcessID]bool
	bad       []string
}

func newSums() *sums { return &sums{of: map[string][4]int64{}, procs: map[sample.ProcessID]bool{}} }

func (s *sums) Add(i *Interval) {
	k := fmt.Sprintf("process %d thread %d stack %d %v %s %s %s", i.Process, i.Thread, i.Stack, i.State, i.Wait, i.Leaf,
		i.Program)
	if i.Leaf == "" || i.Leaf == RanBetweenTicks || i.Leaf == BlockedBetweenTicks {
		k = strings.TrimSpace(k) + " " + strings.Join(s.functions[i.Stack], ";")
	}
	t := s.of[k]
	s.of[k] = [4]int64{t[0] + i.CPU, t[1] + i.RunQueue, t[2] + i.Wall, t[3] + i.Samples}
	s.cpu += i.CPU
	if i.CPU < 0 || i.RunQueue < 0 || i.CPU+i.RunQueue > i.Wall || s.procs[i.Process] {
		s.bad = append(s.bad, fmt.Sprintf("%s: %+v", k, i.Span))
	}
}

func (s *sums) ProcessDone(process sample.ProcessID) { s.procs[process] = true }

func (s *sums) String() string {
	var lines []string
	for k, t := range s.of {
		lines = append(lines, fmt.Sprintf("%12d cpu %12d runqueue %12d wall %4d samples  %s\n", t[0], t[1], t[2], t[3],
			strings.TrimSpace(k)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func TestRecordedStreamsGiveTheSameIntervals(t *testing.T) {
	streams, _ := filepath.Glob("testdata/*.events")
	if len(streams) == 0 {
		t.Fatal("no testdata/*.events")
	}
	for _, path := range streams {
		stream, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := newSums()
		got.functions = functionsIn(t, stream)
		totals, err := replay(bytes.NewReader(stream), got)
		if err != nil {
			t.Fatal(path, err)
		}
		if got.cpu != totals.Target || len(got.bad) > 0 {
			t.Errorf("%s: %d ns attributed, want the kernel's %d; impossible intervals: %q", path, got.cpu, totals.Target,
				got.bad)
		}
		golden := strings.TrimSuffix(path, ".events") + ".want"
		text := fmt.Sprintf("target %d estimated %d\n%v", totals.Target, totals.Estimated, got)
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s gives\n%s\nwant\n%s", path, text, want)
		}
	}
}

func functionsIn(t *testing.T, stream []byte) map[sample.StackID][]string {
	t.Helper()
	functions := map[sample.StackID][]string{}
	for line := range bytes.Lines(stream) {
		var s struct {
			Stack struct {
				ID        sample.StackID
				Functions []string
			}
		}
		if !bytes.HasPrefix(line, []byte(`{"Stack"`)) {
			continue
		}
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		functions[s.Stack.ID] = s.Stack.Functions
	}
	return functions
}

// placeSums sums the time in the places where a program computes and sleeps by its source, and elsewhere, ns.
type placeSums struct {
	functions                            map[sample.StackID][]string
	computesIn                           string
	sleepsIn                             []string
	rightCPU, cpu, rightBlocked, blocked int64
}

func (p *placeSums) Add(i *Interval) {
	if i.Leaf == NotObserved {
		return
	}
	blocked := i.Wall - i.CPU - i.RunQueue
	p.cpu += i.CPU
	p.blocked += blocked
	if i.Leaf == "" && slices.Contains(p.functions[i.Stack], p.computesIn) {
		p.rightCPU += i.CPU
	}
	if i.Leaf == "" && slices.ContainsFunc(p.sleepsIn, p.functionIn(i)) {
		p.rightBlocked += blocked
	}
}

func (p *placeSums) functionIn(i *Interval) func(string) bool {
	return func(name string) bool { return slices.Contains(p.functions[i.Stack], name) }
}

func (*placeSums) ProcessDone(sample.ProcessID) {}

// Unlike the .want files, it does not depend on -update.
func TestRecordedTimeIsWhereTheProgramsSpendIt(t *testing.T) {
	for name, c := range map[string]placeSums{
		"sleeper_ptrace": {computesIn: "burn", sleepsIn: []string{"nanosleep"}},
		"exec_ptrace":    {computesIn: "burn_here", sleepsIn: []string{"sigwait", "__pthread_clockjoin_ex", "pause"}},
	} {
		stream, err := os.ReadFile(filepath.Join("testdata", name+".events"))
		if err != nil {
			t.Fatal(err)
		}
		c.functions = functionsIn(t, stream)
		if _, err := replay(bytes.NewReader(stream), &c); err != nil {
			t.Fatal(err)
		}
		const least = 0.99
		right := float64(c.rightCPU) >= least*float64(c.cpu) && float64(c.rightBlocked) >= least*float64(c.blocked)
		if !right || c.cpu == 0 || c.blocked == 0 {
			t.Errorf("%s: of %d ns of CPU time %d are in %s; of %d ns asleep %d in %v", name, c.cpu, c.rightCPU,
				c.computesIn, c.blocked, c.rightBlocked, c.sleepsIn)
		}
	}
}

type parent struct{ gone bool }

func (k *parent) State(pid int) (ProcState, bool) {
	switch {
	case pid == 100:
		return ProcState{Start: 1, Parent: 1, ChildrenCPU: 40e6}, true
	case pid == 101 && !k.gone:
		return ProcState{Start: 2, Parent: 100}, true
	}
	return ProcState{}, false
}
func (*parent) IgnoresChildren(int) bool   { return false }
func (*parent) ExactChildrenCPU(int) int64 { return 0 }

func TestReplayGivesTheIntervalsOfTheRecordedRun(t *testing.T) {
	var stream bytes.Buffer
	kernel := &parent{}
	o := Scope{Children: true, StandsFor: 10e6}
	r := NewRecorder(&stream, o, kernel)
	ran := newSums()
	a := New(o, r, ran)
	at := func(ms, cpu int64) sample.Reading { return sample.Reading{Wall: ms * 1e6, CPU: cpu * 1e6} }
	for _, e := range []Event{
		&ProcessStarted{Process: 1, PID: 100, Start: 1, ChildrenFromStart: true},
		&ProcessStarted{Process: 2, PID: 101, Start: 2, Parent: 100, FromStart: true},
		&Sampled{Process: 2, Thread: 1, CreatedAt: 1, Sample: Sample{
			At: at(10, 5), OnCPU: true, StandsFor: 10e6, Place: Place{Stack: 3}}},
		&Sampled{Process: 2, Thread: 1, CreatedAt: 1, Sample: Sample{
			At: at(20, 9), StandsFor: 10e6, Place: Place{Stack: 4, State: sample.Sleeping, Wait: "read"}}},
		&Tick{At: 20e6},
		&FoundUnchanged{Thread: 1, UnchangedBefore: sample.Unchanged{Ticks: 3, Last: at(50, 9)}},
		&NotObservedFor{At: 60e6, Length: 20e6},
		&ThreadEnded{Process: 2, Thread: 1, CreatedAt: 1, End: End{AtEnd: at(100, 30)}},
		&ProcessEnded{Process: 2, Program: "child", At: 100e6,
			ProcessEnd: ProcessEnd{Charged: 30e6, EndedThreads: 30e6}},
		&UnassignedSample{Process: 1, StandsFor: 10e6, At: 80e6, OfChild: true, Place: Place{Stack: 5}},
		&Tick{At: 800e6},
		&ProcessEnded{Process: 1, At: 900e6},
	} {
		r.Event(e)
		a.Apply(e)
		if _, ended := e.(*ThreadEnded); ended {
			kernel.gone = true
		}
	}
	a.Close(900e6)
	if err := WriteStack(&stream, 3, []string{"main"}); err != nil {
		t.Error(err)
	}
	if ran.cpu != a.Totals().Target || ran.cpu < 30e6 {
		t.Errorf("recording: %d ns attributed, want those of %+v:\n%v", ran.cpu, a.Totals(), ran)
	}
	again := newSums()
	totals, err := replay(bytes.NewReader(stream.Bytes()), again)
	if err != nil || totals != a.Totals() || again.String() != ran.String() {
		t.Errorf("replay: error %v, %+v\n%v\nwant %+v\n%v", err, totals, again, a.Totals(), ran)
	}
}

func TestStreamsOfAnotherFormatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "options",
		"{}\n{\"Sampled\":7}":          "line 2",
		"{}\n{\"Tick\":{}}\n{\"x\":1}": `line 3: "x" is not an event`,
		"{}\n{\"Tick\":{\"X\":1}}":     `line 2: json: unknown field "X"`,
		"{}\n[":                        "line 2",
	} {
		_, err := replay(strings.NewReader(text), newSums())
		if !errors.Is(err, errFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func FuzzReplay(f *testing.F) {
	streams, _ := filepath.Glob("testdata/*.events")
	for _, path := range streams {
		stream, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stream[:min(len(stream), 4096)])
	}
	f.Add([]byte("{}\n{\"UnassignedSample\":{\"Process\":1,\"Length\":-5}}\n{\"ProcessEnded\":{\"Process\":1}}\n"))
	f.Fuzz(func(_ *testing.T, stream []byte) {
		_, _ = replay(bytes.NewReader(stream), newSums()) // must not panic
	})
}
