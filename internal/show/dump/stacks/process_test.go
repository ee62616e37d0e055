// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"strings"
	"testing"
)

func TestFirstThreadComesFirstAlsoWhereNumbersWrapped(t *testing.T) {
	p := &Process{PID: 32767, Threads: []Thread{{TID: 301}, {TID: 32767}, {TID: 300}}}
	p.SortThreads()
	if p.Threads[0].TID != 32767 || p.Threads[1].TID != 300 || p.Threads[2].TID != 301 {
		t.Errorf("%+v", p.Threads)
	}
}

// The example of doc.go.
func TestOwnPlaceIsTheInnermostFunctionOfTheProgram(t *testing.T) {
	thread := &Thread{Frames: []Frame{
		{Place: &Place{Function: "__futex_wait", Module: "/lib/libc.so.6"}},
		{Place: &Place{Function: "lll_lock_wait", Module: "/lib/libc.so.6"}},
		{Place: &Place{Function: "lookup", Module: "/bin/cached", File: "/src/cached.c", Line: 6}},
		{Place: &Place{Function: "main", Module: "/bin/cached", File: "/src/cached.c", Line: 20}},
	}}
	if got, want := thread.OwnPlace(), "lookup at cached.c:6"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTasksThatWaitWhileNothingRunsHaveANextCommand(t *testing.T) {
	const next = " pending; prywalk dump -p 7 lists what each awaits"
	for want, p := range map[string]Process{
		"nothing runs, 1 asyncio task" + next: {Tasks: []Task{{Kind: "asyncio", State: "waiting", Count: 1}}},
		"nothing runs, 3 asyncio tasks" + next: {Threads: []Thread{{State: "S"}}, Tasks: []Task{
			{Kind: "asyncio", State: "waiting", Count: 3}, {Kind: "fiber", State: "waiting", Count: 5}}},
		"": {Threads: []Thread{{State: "R"}}, Tasks: []Task{{Kind: "asyncio", State: "waiting", Count: 1}}},
		"nothing runs, 7 greenlets pending; prywalk dump -p 7 shows their stacks": {Tasks: []Task{
			{Kind: "greenlet", State: "waiting", Count: 1}, {Kind: "greenlet", State: "waiting", Count: 6}}},
		"nothing runs, 1 fiber pending; prywalk dump -p 7 shows their stacks": {Tasks: []Task{
			{Kind: "fiber", State: "waiting", Count: 1}}},
	} {
		p.PID = 7
		if got := p.PendingTasks(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	clients := "process 7 has 2 client connections open and nothing runs, so tasks or promises may hang; " +
		"prywalk dump -p 7 lists the pending awaits"
	for want, p := range map[string]Process{
		clients: {PID: 7, Clients: 2, Threads: []Thread{{State: "S"}}},
		"":      {PID: 7, Clients: 2, Threads: []Thread{{State: "R"}}},
	} {
		if got := p.OpenClients(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	p := Process{Tasks: []Task{{Kind: "asyncio", State: "waiting", Count: 3}}, Threads: []Thread{{TID: 7, State: "S",
		Frames: []Frame{{Place: &Place{Function: "clock_nanosleep"}},
			{Place: &Place{Function: "handle", File: "/app/app.py", Line: 5, Kind: "cpython"}},
			{Place: &Place{Function: "BaseEventLoop._run_once", File: "/usr/lib/python3.11/asyncio/base_events.py"}}}}}}
	if got, want := p.PendingTasks(), "thread 7 runs a task of asyncio's event loop and waits in handle at app.py:5; "+
		"until that returns, no other task of its loop runs (3 waiting asyncio tasks in the process)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Threads[0].Frames = []Frame{{Place: &Place{Function: "epoll_wait"}},
		{Place: &Place{Function: "select", File: "/usr/lib/python3.9/selectors.py", Kind: "cpython"}},
		{Place: &Place{Function: "_PyFunction_Vectorcall", Machinery: true}},
		{Place: &Place{Function: "_run_once", File: "/usr/lib/python3.9/asyncio/base_events.py", Kind: "cpython"}}}
	if got := p.PendingTasks(); !strings.HasPrefix(got, "nothing runs, 3 asyncio tasks pending; ") {
		t.Errorf("an event loop that waits for events: %q", got)
	}
	p = Process{PID: 7, Clients: 2, Threads: []Thread{{TID: 8, State: "S"}, {TID: 7, State: "S", Frames: []Frame{
		{Place: &Place{Function: "epoll_pwait"}}, {Place: &Place{Function: "node::SyncProcessRunner::Spawn"}},
		{Place: &Place{Function: "spawnSync", File: "node:child_process", Line: 877, Kind: "v8js", Module: "[Node 20.20.2]"}},
		{Place: &Place{Function: "resize", File: "/srv/app.js", Line: 2, Kind: "v8js", Module: "[Node 20.20.2]"}}}}}}
	if got, want := p.PendingTasks(), "thread 7 runs JavaScript and waits in resize at app.js:2; until that returns, "+
		"nothing else of its event loop runs"; got != want || p.NothingRuns() || p.OpenClients() != "" {
		t.Errorf("%q, want %q; nothing runs: %v, %q", got, want, p.NothingRuns(), p.OpenClients())
	}
	p = Process{Tasks: []Task{{Kind: "asyncio", State: "ready", Count: 1}}}
	if got := p.PendingTasks(); got != "" {
		t.Errorf("a task that is ready: %q", got)
	}
}
