// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
)

var goNames = nameTable{app.Path: {
	0x10: fn("runtime.gopark", "/go/proc.go", 10), 0x20: fn("runtime.chanrecv1", "/go/chan.go", 20),
	0x30: fn("main.handle", "/src/shop.go", 30), 0x40: fn("runtime.goexit", "/go/asm.s", 1),
	0x50: fn("runtime.stopm", "/go/proc.go", 50), 0x60: fn("runtime.mcall", "/go/asm.s", 60),
	0x70: fn("internal/poll.(*FD).Accept", "/go/fd.go", 70), 0x80: fn("main.main", "/src/shop.go", 80),
	0x90: fn("syscall.read", "/go/sys.go", 90),
}}

// Two goroutines wait for a channel, one for a connection, one runs below labels, one is in a system call; three
// threads, one second.
func goService(t *testing.T) *profile.Profile {
	t.Helper()
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 10 * time.Millisecond, Main: app})
	add := func(tid int, thread, state, wait, task string, labels map[string]string, wall, cpu int64, pcs ...uint64) {
		b.Add(rec.Interval{Stack: b.Intern(at(app, pcs...)), PID: 100, TID: tid, Comm: "shop", Thread: thread, State: state,
			Wait: wait, Task: task, Labels: rec.LabelText(labels), End: 1_700_000_001e9, Wall: wall * 1e6, CPU: cpu * 1e6,
			Samples: int64(min(tid, 1)) * wall / 10})
	}
	asks := map[string]string{"request": "42", "state": "new"}
	for range 2 {
		add(0, "main.handle", "sleeping", "chan receive", languages.GoroutineTask, asks, 1000, 0, 0x10, 0x20, 0x30, 0x40)
	}
	add(0, "main.main", "sleeping", "IO wait", languages.GoroutineTask, nil, 1000, 0, 0x10, 0x70, 0x80, 0x40)
	add(101, "shop", "running", "", "", asks, 400, 400, 0x30, 0x40)
	add(101, "shop", "sleeping", "futex", "", nil, 600, 0, 0x50, 0x60)
	add(102, "shop", "sleeping", "futex", "", nil, 1000, 10, 0x50, 0x60)
	add(103, "shop", "sleeping", "read", "", nil, 1000, 0, 0x90, 0x30, 0x40)
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
	return parsed(t, b, goNames)
}

func TestThreadsAsleepInGosSchedulerDoNotCountBesideGoroutines(t *testing.T) {
	p := goService(t)
	text := render(t, Table, p, Options{By: "wait"})
	for _, want := range []string{"chan receive (about 2 goroutines at a time)",
		"IO wait [idle: accept] (about 1 goroutine", "read (1 thread)", "main.handle",
		"not counted: 1.59s of threads asleep in Go's scheduler", "1.00s × (3 threads + about 3 goroutines) at 100 Hz",
		" · 140 samples", "wall 4.41s (100.0% with complete stacks) · "} {
		if !strings.Contains(text+render(t, Account, p, Options{By: "wait"}), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	text = render(t, Table, p, Options{By: "wait", N: 1})
	if !strings.Contains(text, "… 4 more groups, 55% of all (idle: 23%); -n -1 shows them") {
		t.Errorf("the omitted groups and how much of them is idle:\n%s", text)
	}
	for native, want := range map[bool][2]int64{false: {4410, 410}, true: {6000, 410}} {
		var got struct{ Total map[string]int64 }
		var text strings.Builder
		if err := JSON(&text, p, false, Options{Native: native}); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
			t.Fatal(err)
		}
		if got.Total["wall"] != want[0]*1e6 || got.Total["cpu"] != want[1]*1e6 {
			t.Errorf("native %v: %v, want %v ms of wall and cpu", native, got.Total, want)
		}
	}
	text = render(t, Table, p, Options{By: "thread", Value: "wall"})
	if !strings.Contains(text, "goroutine main.handle") {
		t.Errorf("no group of goroutines by the function that they began in:\n%s", text)
	}
}

func TestReportByLabel(t *testing.T) {
	p := goService(t)
	for by, want := range map[string][]string{
		"label":               {"program.state=new, request=42", "[no labels]"},
		"label:request":       {"  42  ", "[no label request]"},
		"label:program.state": {"  new  ", "[no label program.state]"},
		"label:state":         {"[no label state]"},
	} {
		text := render(t, Table, p, Options{By: by})
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in\n%s", by, part, text)
			}
		}
	}
	for _, by := range []string{"label:", "labels"} {
		if err := Table(&strings.Builder{}, p, Options{By: by}); err == nil {
			t.Errorf("%q is a grouping", by)
		}
	}
}
