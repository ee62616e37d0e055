// SPDX-License-Identifier: Apache-2.0

package runtimes_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	dumptext "prywalk/internal/show/dump/text"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes"
	"prywalk/internal/watch/target"
	"prywalk/report"
)

const hotID = 15

func TestMain(m *testing.M) {
	runtimes.Detectors = append([]managed.Detector{detectToy}, runtimes.Detectors...)
	os.Exit(m.Run())
}

func start(t *testing.T) int {
	t.Helper()
	testtargets.Need(t, runtime.GOARCH == "amd64", "an x86-64 processor", "another machine")
	exe, err := testtargets.Compile("toy.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	return cmd.Process.Pid
}

// want has the frames of the toy's threads, innermost first, up to where the thread begins. A name in braces is
// machinery.
var want = map[string][]string{
	"sleeper": {"sleep_here", "leaf leaf.toy:100 inlined interpreted", "inner inner.toy:32 interpreted", "{toy_run}",
		"callback",
		"middle main.toy:22 interpreted", "main main.toy:12 interpreted", "{toy_run}", "begin"},
	"compiled": {"sleep_here", "hot hot.toy:50 compiled", "main main.toy:42 interpreted", "{toy_run}", "begin"},
	"ghost":    {"sleep_here", "disappear", "[freed] :0 ", "main main.toy:72 interpreted", "{toy_run}", "begin"},
	"broken":   {"sleep_here", "contradict", "toy_run", "begin"},
	"spinner": {"work work.toy:92 interpreted", "middle main.toy:95 interpreted", "main main.toy:98 interpreted",
		"{toy_run}", "begin"},
}

// got may have more frames on either side.
func check(t *testing.T, thread string, got []string) {
	t.Helper()
	w := want[thread]
	if i := slices.Index(got, w[0]); i < 0 || len(got) < i+len(w) || !slices.Equal(got[i:i+len(w)], w) {
		t.Errorf("%s:\n%q\nwant\n%q", thread, got, w)
	}
}

func TestDumpsHaveManagedFrames(t *testing.T) {
	pid := start(t)
	for _, atomic := range []bool{false, true} {
		p, err := loadedcode.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		d, err := dump.Sample(p, dump.Options{MaxDepth: -1, Atomic: atomic})
		if err != nil {
			t.Fatal(err)
		}
		checkDump(t, d)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCoresHaveManagedFrames(t *testing.T) {
	pid := start(t)
	p := observed.DumpCore(t, pid)
	names := threadNames(t, pid)
	for i := range p.Threads { // a core has no thread names
		p.Threads[i].Name = names[p.Threads[i].TID]
	}
	checkDump(t, p)
}

func threadNames(t *testing.T, pid int) map[int]string {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	tids, err := p.Threads(nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[int]string{}
	for _, tid := range tids {
		names[tid] = p.ThreadName(tid)
	}
	return names
}

func checkDump(t *testing.T, p *stacks.Process) {
	t.Helper()
	for i := range p.Threads {
		th := &p.Threads[i]
		if th.TID == p.PID {
			continue
		}
		if !th.Complete {
			t.Errorf("%s: %s", th.Name, th.StopReason)
		}
		var got []string
		for _, f := range th.Frames {
			got = append(got, ofDump(&f))
		}
		check(t, th.Name, got)
	}
	for _, native := range []bool{false, true} {
		p.Native = native
		var b bytes.Buffer
		if err := dumptext.Write(&b, p); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), " inner at inner.toy:32 in [Toy 1.0] [toy interpreted]\n") {
			t.Errorf("%s", b.Bytes())
		}
		loops := strings.Count(b.String(), " toy_run at ")
		if native != (loops > 1) || loops == 0 { // the broken thread always has one
			t.Errorf("native %v: %d loops\n%s", native, loops, b.Bytes())
		}
	}
}

// ofDump is a frame as want has it.
func ofDump(f *stacks.Frame) string {
	switch {
	case f.Machinery:
		return "{" + f.Function + "}"
	case f.Kind == "":
		return f.Function
	}
	inlined := ""
	if f.Inlined {
		inlined = "inlined "
	}
	return fmt.Sprintf("%s %s:%d %s%s", f.Function, strings.TrimPrefix(f.File, "toy/"), f.Line, inlined, f.Type)
}

func TestRecordingsAndReportsHaveManagedFrames(t *testing.T) {
	prof := observed.Record(t, start(t), observed.Recording{
		Options: target.SamplingOptions{Freq: 99}, Stops: 20, Kill: true,
	})
	seen := map[string]int{}
	for _, s := range prof.Sample {
		thread := s.Label[profile.LabelThread][0]
		if want[thread] == nil || s.Value[0] == 0 {
			continue
		}
		seen[thread]++
		check(t, thread, ofSample(s))
	}
	if len(seen) != len(want) {
		t.Errorf("seen: %v", seen)
	}
	for _, m := range prof.Mapping {
		if m.File == "[Toy 1.0]" && !m.HasFunctions {
			t.Errorf("%+v", m)
		}
	}
	for _, native := range []bool{false, true} {
		var b bytes.Buffer
		if err := report.Folded(&b, prof, report.Options{Native: native, Value: "samples", Thread: "sleeper"}); err != nil {
			t.Fatal(err)
		}
		loop := ""
		if native {
			loop = "toy_run;"
		}
		chain := ";begin;" + loop + "main;middle;callback;" + loop + "inner;leaf;sleep_here;"
		if !strings.Contains(b.String(), chain) {
			t.Errorf("native %v: no %s in\n%s", native, chain, b.Bytes())
		}
	}
}

func ofSample(s *pprof.Sample) (out []string) {
	for _, l := range s.Location {
		for i, ln := range l.Line {
			f := ln.Function
			typ := profile.FrameType(f.Name, f.SystemName)
			switch {
			case typ == profile.Machinery:
				out = append(out, "{"+f.Name+"}")
				continue
			case l.Mapping == nil || l.Mapping.File != "[Toy 1.0]":
				out = append(out, f.Name)
				continue
			}
			if compiled := typ == "compiled"; compiled != (l.Address != 0) {
				out = append(out, fmt.Sprintf("at %#x", l.Address))
			}
			if i < len(l.Line)-1 {
				typ = "inlined " + typ
			}
			out = append(out, fmt.Sprintf("%s %s:%d %s", f.Name, strings.TrimPrefix(f.Filename, "toy/"), ln.Line, typ))
		}
	}
	return out
}
