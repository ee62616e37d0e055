// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"cmp"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

func goTarget(t *testing.T, name string, args ...string) int {
	t.Helper()
	source := "../../testtargets/src/" + name + "/main.go"
	exe := testtargets.Compiled{
		Name: name, Sources: []string{source, "../../../go.mod"}, Command: []string{"go", "build", "-o", "OUT", source},
	}.Build(t)
	cmd := exec.Command(exe, args...)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	testtargets.Ready(t, cmd)
	return cmd.Process.Pid
}

func ofGoroutine(s *pprof.Sample) bool { return label(s, profile.LabelTask) == languages.GoroutineTask }

func TestGoroutinesThatWaitAreBlockedTime(t *testing.T) {
	const each = 500
	pid := goTarget(t, "parked", strconv.Itoa(each))
	r := record(t, target.SamplingOptions{Tasks: true}, 2*time.Second, func(s *Sampler) {
		await(t, "goroutines are recorded", func() bool { return s.aggregator.TaskObservations() >= 2*8*each })
	}, pid)
	reasons := map[string]string{"receive": "chan receive", "send": "chan send", "lock": "sync.Mutex.Lock",
		"rlock": "sync.RWMutex.RLock", "wait": "sync.WaitGroup.Wait", "sleep": "sleep", "read": "IO wait", "choose": "select"}
	longest := int64(0)
	for function, reason := range reasons {
		n := 0
		for _, s := range r.Sample {
			frames := stack(s)
			if !ofGoroutine(s) || !slices.Contains(frames, "main."+function) {
				continue
			}
			n++
			longest = max(longest, s.Value[1])
			if label(s, "wait") != reason || label(s, "state") != "sleeping" || s.Value[0] != 0 || s.Value[1] <= 0 ||
				s.Value[2] != 0 || s.Value[3] != 0 || frames[0] != "runtime.gopark" ||
				frames[len(frames)-1] != "runtime.goexit" || len(s.NumLabel["tid"]) != 0 {
				t.Errorf("%s: %v %v %v %v", function, s.Value, s.Label, s.NumLabel, frames)
				break
			}
		}
		if n != each {
			t.Errorf("%d goroutines in %s, want %d", n, function, each)
		}
	}
	if float64(longest)/1e9 > r.Seconds+0.001 {
		t.Errorf("a goroutine waited for %d ns in %v s", longest, r.Seconds)
	}
	g := r.Goroutines
	if g == nil || g.Walked < 8*each || g.Incomplete != 0 || g.ChangedInVain != 0 || g.Observations < 2*8*each ||
		g.Blocked <= 0 {
		t.Fatalf("%+v", g)
	}
	if sum := float64(r.sumOf(1, ofGoroutine)) / 1e9; sum < g.Blocked-1e-6 || sum > g.Blocked+1e-6 {
		t.Errorf("%v s in the profile, %v counted", sum, g.Blocked)
	}
	if r.Stops > 2*r.ThreadsMax {
		t.Errorf("%d stops of %d threads that sleep", r.Stops, r.ThreadsMax)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the threads' clocks, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}

func TestGoroutinesAreLeftOutUnlessAskedFor(t *testing.T) {
	pid := goTarget(t, "parked", "10")
	r := record(t, target.SamplingOptions{}, 300*time.Millisecond, nil, pid)
	if n := r.count(ofGoroutine); n != 0 || r.Goroutines != nil {
		t.Errorf("%d goroutines, %+v", n, r.Goroutines)
	}
}

func TestLabelsAreThoseOfTheFunctionThatRuns(t *testing.T) {
	pid := goTarget(t, "labels")
	ran := func(s *pprof.Sample) bool { return s.Value[3] > 0 && label(s, "state") == "running" }
	burns := map[string]string{"main.burnA": "a", "main.burnB": "b"}
	// A stop copies labels once a walk has found where they are, and if it has time left: on a busy machine walks come
	// later than stops, and some stops have no time.
	var others atomic.Int64
	watch := func(_ *target.Process, s *observe.RawSample, _ sample.StackID, _ *frames.Walker) {
		if s.How != observe.ByStop || s.Limits.OutOfTime() {
			others.Add(1)
		}
	}
	r := recordUntil(t, target.SamplingOptions{Tasks: true, Freq: 199, Walked: watch}, func(r *recorded) bool {
		return r.count(func(s *pprof.Sample) bool { return ran(s) && label(s, "kind") != "" }) >= testtargets.Times(100, 400)
	}, pid)
	type counted struct{ end, n int64 }
	var right, none []counted
	for _, s := range r.Sample {
		functions := stack(s)
		kind := burns[functions[0]]
		if kind == "" || !ran(s) {
			continue
		}
		c := counted{s.NumLabel[profile.LabelEnd][0], s.Value[0]}
		switch got := label(s, "kind"); {
		case got == "":
			none = append(none, c)
		case got != kind, kind == "a" && label(s, "request") == "", kind == "b" && label(s, "program.state") == "":
			t.Errorf("%s: %v", functions[0], s.Label)
		default:
			right = append(right, c)
		}
	}
	byEnd := func(a, b counted) int { return cmp.Compare(a.end, b.end) }
	if len(right) < 50 {
		t.Fatalf("%d samples have labels, want at least 50", len(right))
	}
	first, lacking := slices.MinFunc(right, byEnd).end, int64(0)
	for _, c := range none {
		if c.end > first {
			lacking += c.n
		}
	}
	t.Logf("%d samples with the right labels, %d without, %d of them later than the first one with", len(right), len(none),
		lacking)
	if n := others.Load(); lacking > n {
		t.Errorf("%d samples have no labels, want at most the %d without a stop that had time", lacking, n)
	}
}

func TestAShortRecordingHasAllGoroutines(t *testing.T) {
	const each = 500
	pid := goTarget(t, "parked", strconv.Itoa(each))
	r := record(t, target.SamplingOptions{Tasks: true}, 10*time.Millisecond, nil, pid)
	if g := r.Goroutines; g == nil || g.Unread != 0 || g.Walked < 8*each {
		t.Errorf("%+v", g)
	}
}

func TestGoroutinesOfEachGoRuntimeAreRecorded(t *testing.T) {
	shared := []string{"-buildmode=c-shared"}
	one := testtargets.BuildGoAs(t, testtargets.GoLibrary, "one.so", shared...)
	two := testtargets.BuildGoAs(t, testtargets.GoLibrary, "two.so", append(shared, "-ldflags=-s -w")...)
	cmd := exec.Command(testtargets.BuildGoLibraryHost(t), one, two)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	hung := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer hung.Stop()
	ended := 0
	for lines := bufio.NewScanner(out); ended < 2 && lines.Scan(); {
		if lines.Text() == "END" {
			ended++
		}
	}
	r := record(t, target.SamplingOptions{Tasks: true}, time.Second, func(s *Sampler) {
		await(t, "goroutines are recorded", func() bool { return s.aggregator.TaskObservations() >= 4*80 })
	}, cmd.Process.Pid)
	parked, busy := map[string]int{}, map[string]bool{}
	for _, s := range r.Sample {
		frames, root := stack(s), s.Location[len(s.Location)-1].Mapping
		if root == nil { // time without a stack
			continue
		}
		file := filepath.Base(root.File)
		switch {
		case ofGoroutine(s) && slices.Contains(frames, "main.receive"):
			parked[file+" "+label(s, "wait")]++
		case ofGoroutine(s) && slices.Contains(frames, "main.lock"):
			parked[file+" "+label(s, "wait")]++
		case slices.Contains(frames, "main.compute") && frames[len(frames)-1] == "runtime.goexit":
			busy[file] = true
		}
	}
	want := map[string]int{"one.so chan receive": 20, "one.so sync.Mutex.Lock": 20,
		"two.so chan receive": 20, "two.so sync.Mutex.Lock": 20}
	if !maps.Equal(parked, want) || !busy["one.so"] || !busy["two.so"] {
		t.Errorf("%v and %v, not %v and both", parked, busy, want)
	}
}

// The race detector is C++ on another stack.
const underRaceDetector = `package main

import (
	"fmt"
	"sort"
)

type pair struct{ key, value int }

//go:noinline
func burn(n int) (sum int) {
	pairs := make([]pair, n)
	for i := range pairs {
		pairs[i] = pair{i * 7919 % n, i}
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].key < pairs[j].key })
	for _, p := range pairs {
		sum += p.key
	}
	return sum
}

func main() {
	for n := 0; ; n++ {
		if burn(20000); n == 0 {
			fmt.Println("ready")
		}
	}
}
`

func TestGoProgramsUnderTheRaceDetectorHaveWholeStacks(t *testing.T) {
	testtargets.OnlyInAll(t, "it compiles the race detector's runtime")
	cmd := exec.Command(testtargets.BuildGoAs(t, underRaceDetector, "racing", "-race"))
	testtargets.Ready(t, cmd)
	ofProgram := func(s *pprof.Sample) bool { return in("main.burn")(s) || in("racecall")(s) }
	r := recordUntil(t, target.SamplingOptions{Freq: 199}, func(r *recorded) bool {
		return r.count(ofProgram) >= 400 && r.count(in("racecall")) >= 20
	}, cmd.Process.Pid)
	whole, cut, inDetector := 0, 0, 0
	for _, s := range r.Sample {
		frames := stack(s)
		if !ofProgram(s) {
			continue
		}
		if outermost := frames[len(frames)-1]; outermost == "runtime.goexit" {
			whole++
		} else if cut++; cut <= 3 {
			t.Log(frames)
		}
		for _, name := range frames {
			if strings.HasPrefix(name, "_Z") {
				t.Errorf("%s is not demangled", name)
			}
		}
		if slices.Contains(frames, "racecall") {
			inDetector++
		}
	}
	// The detector's code has no call frame information in a program that Go has linked.
	t.Logf("%d whole stacks, %d cut, %d in the race detector", whole, cut, inDetector)
	if whole < 50 || cut*50 > whole || inDetector < 20 {
		t.Errorf("%d whole stacks, %d cut, %d in the race detector", whole, cut, inDetector)
	}
}
