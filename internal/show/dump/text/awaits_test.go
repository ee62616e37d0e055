// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/managed"
)

func ofAwaits() *stacks.Process {
	at := func(function string, line int) stacks.Frame {
		return stacks.Frame{Place: &stacks.Place{Function: function, File: "/srv/app.js", Line: line, Kind: "v8js",
			Module: "[Node 22.20.0]"}}
	}
	return &stacks.Process{PID: 7,
		Threads: []stacks.Thread{{TID: 7, Name: "node", State: "S",
			Frames: []stacks.Frame{{Place: &stacks.Place{Function: "uv_run", Module: "/usr/bin/node"}}}}},
		Tasks: []stacks.Task{{Kind: languages.AwaitTask, Count: 1200, State: "waiting", How: stacks.ReadTwice,
			Frames: []stacks.Frame{at("query", 12), at("handler", 40)}}},
		Awaits: &managed.AwaitCounts{Pending: 2400}}
}

func TestPendingAwaitsAreShownOnceWithTheirNumber(t *testing.T) {
	var b strings.Builder
	writeAwaits(&b, ofAwaits())
	const want = "\n1,200 pending awaits (read twice)\n" +
		"  #0                     query at app.js:12 in [Node 22.20.0] [v8js]\n" +
		"  #1                     handler at app.js:40 in [Node 22.20.0] [v8js]\n" +
		"\n2,400 asynchronous functions are suspended\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestTheTextNamesWhatWasNotRead(t *testing.T) {
	const want = "1 asynchronous function is suspended; 2 functions that changed meanwhile, or without a proven chain, " +
		"are left out; 3 chains beyond the limits are not shown; only a part of the heap was " +
		"searched: there can be more, also within these chains"
	if got := suspendedText(&managed.AwaitCounts{Pending: 1, Unproven: 2, More: 3, Cut: true}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPendingAwaitsMakeADeadlockUnknown(t *testing.T) {
	for _, c := range []struct {
		awaits managed.AwaitCounts
		want   string
	}{
		{managed.AwaitCounts{Pending: 2400}, "2,400 asynchronous functions are suspended"},
		{managed.AwaitCounts{Cut: true}, "0 asynchronous functions are suspended; only a part of the heap was searched: " +
			"there can be more, also within these chains"},
	} {
		l, p := locks.New(), ofAwaits()
		p.Awaits = &c.awaits
		l.Processes = []*stacks.Process{p}
		l.Examine(locks.AsRead{})
		want := "deadlock unknown: promises store no owner (" + c.want + "); prywalk dump -p 7 lists the functions"
		if got := verdictText(l); got != want {
			t.Errorf("%+v: %q, want %q", c.awaits, got, want)
		}
	}
}

// The tasks await different ones at one place; two await the same one.
func TestAwaitingTasksWithEqualStacksAreShownOnceTheRarestFirst(t *testing.T) {
	at := func(line int) []stacks.Frame {
		return []stacks.Frame{{Place: &stacks.Place{Function: "work", File: "/srv/app.py", Line: line, Kind: "cpython",
			Module: "[CPython 3.11.2]"}}}
	}
	task := func(name string, line int, awaits ...string) stacks.Task {
		return stacks.Task{Name: name, Kind: "asyncio", State: "waiting", How: stacks.ReadTwice, AwaitsTasks: awaits,
			Frames: at(line)}
	}
	var b strings.Builder
	writeTasks(&b, &stacks.Process{PID: 7, Tasks: []stacks.Task{
		task("a", 1, "x", "y"), task("b", 1, "z"), task("c", 1, "z"), task("d", 2, "z"),
	}})
	const want = "\nwaiting task d (asyncio, read twice): awaits task z\n" +
		"  #0                     work at app.py:2 in [CPython 3.11.2] [cpython]\n" +
		"\n3 waiting tasks (asyncio, read twice): awaits tasks x, y, z\n" +
		"  a, b, c\n" +
		"  #0                     work at app.py:1 in [CPython 3.11.2] [cpython]\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestTheHeadingNamesTasksAndWhereMostOfThemWait(t *testing.T) {
	at := func(function string, count int, kind string) stacks.Task {
		place := &stacks.Place{Function: function, File: "/srv/app.py", Line: 5, Kind: "cpython", Module: "[CPython 3.11.7]"}
		return stacks.Task{Kind: kind, Count: count, State: "waiting", Frames: []stacks.Frame{{Place: place}}}
	}
	running := at("handle", 9, languages.AsyncioFamily)
	running.State = "running"
	outer := at("start", 8, languages.AsyncioFamily)
	outer.AwaitsTasks = []string{"Task-2"}
	for want, tasks := range map[string][]stacks.Task{
		", 16 asyncio tasks, 8 of them in lookup at app.py:5": {outer, at("lookup", 8, languages.AsyncioFamily)},
		"":                                       {running},
		", 1 greenlet in wait at app.py:5":       {at("wait", 1, languages.GreenletTask)},
		", 2 fibers":                             {at("wait", 1, languages.FiberTask), at("read", 1, languages.FiberTask)},
		", 3 pending awaits in read at app.py:5": {at("read", 3, languages.AwaitTask)},
		", 7 greenlets, 6 of them in checkout at app.py:5": {at("wait", 1, languages.GreenletTask),
			at("checkout", 6, languages.GreenletTask)},
		", 4 virtual threads, 2 of them in a at app.py:5, 1 asyncio task in c at app.py:5": {
			at("b", 2, stacks.VirtualThreadKind), at("a", 2, stacks.VirtualThreadKind), at("c", 1, languages.AsyncioFamily)},
		", 6 fibers in checkout at app.py:5": {{Kind: languages.FiberTask, Count: 6, State: "waiting", Frames: []stacks.Frame{
			{Place: &stacks.Place{Function: "suspend", File: "/srv/vendor/revolt/event-loop/src/A.php", Kind: "php",
				Module: "[PHP 8.2.36]"}}, at("checkout", 1, "").Frames[0]}}},
		", 2 greenlets": {{Kind: languages.GreenletTask, Count: 2, State: "waiting"}},
	} {
		p := &stacks.Process{PID: 7, Name: "srv", Tasks: tasks}
		if got := taskCount(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		for what, write := range map[string]func(io.Writer, *stacks.Process) error{"": Write, ", 0 stacks": WriteMerged} {
			var b strings.Builder
			if err := write(&b, p); err != nil || !strings.HasPrefix(b.String(), "process 7 srv, 0 threads"+what+want+"\n") {
				t.Errorf("%v: %s", err, b.String())
			}
		}
	}
}

func TestTasksThatAreNotShownAreCountedAndANoteSaysWhatToDo(t *testing.T) {
	p := &stacks.Process{PID: 7, Name: "srv", TasksMore: 3, TasksUnproven: 1}
	const want = ", 3 more tasks than prywalk reads, 1 task without a proven stack"
	if got := taskCount(p); got != want || len(Notes(p)) != 0 {
		t.Errorf("%q and %q, want %q and no note", got, Notes(p), want)
	}
	p.TasksChanged, p.TasksUnlisted = 2, 1
	notes := []string{"process 7: 2 tasks changed while being read; dump again",
		"process 7: not all tasks could be listed, as the program ran meanwhile; dump again"}
	if got := Notes(p); !slices.Equal(got, notes) {
		t.Errorf("%q, want %q", got, notes)
	}
}
