// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func TestLocksNameTheOtherEndOfSocketsAndPipes(t *testing.T) {
	proxy := waits.OpenFile{FD: 3, Type: "socket", Remote: "127.0.0.1:3700",
		Peers: []waits.Peer{{PID: 8833, Name: "proxy", FD: 7}}}
	pipe := waits.OpenFile{FD: 4, Type: "pipe", Path: "pipe:[5]"}
	listener := waits.OpenFile{FD: 5, Type: "socket", State: "LISTEN"}
	p := &stacks.Process{PID: 1}
	add := func(call string, w waits.Wait) {
		w.Kind = waits.Descriptor
		p.Threads = append(p.Threads, stacks.Thread{TID: 11 + len(p.Threads), Name: "app", State: "S", Wait: call,
			WaitsFor: &w})
	}
	add("recvfrom", waits.Wait{FD: &proxy})
	add("read", waits.Wait{FD: &proxy})
	add("poll", waits.Wait{FDs: []waits.OpenFile{proxy}})
	add("write", waits.Wait{FD: &pipe})
	add("read", waits.Wait{FD: &proxy, Idleness: waits.Idleness{Idle: waits.IdleConnection}})
	add("accept4", waits.Wait{FD: &listener})
	add("poll", waits.Wait{FDs: []waits.OpenFile{proxy, pipe}})
	p.Threads = append(p.Threads, stacks.Thread{TID: 18, Name: "app", State: "S", Wait: "wait4",
		WaitsFor: &waits.Wait{Kind: waits.Child, Child: 9}})
	p.Threads = append(p.Threads, stacks.Thread{TID: 19, Name: "app", State: "S", Wait: "clock_nanosleep",
		WaitsFor: &waits.Wait{Kind: waits.Sleep}, Frames: []stacks.Frame{
			{Place: &stacks.Place{Function: "sqlite3InvokeBusyHandler", Module: "/usr/lib/libsqlite3.so.0"}},
			{Place: &stacks.Place{Function: "count", File: "/srv/app.py", Line: 6, Kind: "cpython"}}}})
	for i, call := range []string{"pselect6", "futex"} {
		p.Threads = append(p.Threads, stacks.Thread{TID: 20 + i, Name: "app", State: "S", Wait: call,
			WaitsFor: &waits.Wait{Kind: waits.Sleep}, Frames: []stacks.Frame{
				{Place: &stacks.Place{Function: "retry", Module: "/srv/app", File: "/src/app.c", Line: 8}}}})
	}
	for i, call := range []string{"openat", "statx"} {
		p.Threads = append(p.Threads, stacks.Thread{TID: 22 + i, Name: "app", State: "S", Wait: call,
			WaitsFor: &waits.Wait{Kind: waits.Other, Path: "/mnt/a"}})
	}
	l := &locks.Locks{Verdict: locks.VerdictNone, Processes: []*stacks.Process{p}}
	const want = `no deadlock

2 threads read from 127.0.0.1:3700 = proxy (pid 8833): 11 app, 12 app

1 thread waits for 127.0.0.1:3700 = proxy (pid 8833): 13 app

1 thread writes to pipe:[5]: 14 app

1 thread waits for child process 9 (what that waits for: prywalk dump --chains -p 1,9): 18 app

1 thread sleeps in sqlite3InvokeBusyHandler: 19 app
      in count at app.py:6

2 threads sleep in retry: 20 app, 21 app
      in retry at app.c:8 (2 threads)

1 thread waits in openat of /mnt/a: 22 app

1 thread waits in statx of /mnt/a: 23 app

idle, by rule:
`
	if text := lockText(t, l); !strings.Contains(text, want) {
		t.Errorf("%s", text)
	}
}

func ioWait(id uint64, file *waits.OpenFile, functions ...string) stacks.Goroutine {
	g := stacks.Goroutine{ID: id, Status: "waiting", Wait: "IO wait"}
	for _, f := range functions {
		g.Frames = append(g.Frames, stacks.Frame{Place: &stacks.Place{Function: f}})
	}
	if file != nil {
		g.WaitsFor = &waits.Wait{Kind: waits.Descriptor, FD: file}
		if g.Calls(waits.HTTPReader) {
			g.WaitsFor.Idle = waits.IdleConnection
		}
	}
	return g
}

func TestLocksNameTheOtherEndOfGoroutines(t *testing.T) {
	const read, write = "internal/poll.(*pollDesc).waitRead", "internal/poll.(*pollDesc).waitWrite"
	db := waits.OpenFile{Type: "socket", Remote: "127.0.0.1:3700", Peers: []waits.Peer{{PID: 88, Name: "db"}}}
	web := waits.OpenFile{Type: "socket", Remote: "10.0.0.1:80"}
	next := ioWait(9, &db, read)
	next.WaitsFor.Idleness = waits.Idleness{Idle: waits.IdleConnection}
	request := func(id uint64) stacks.Goroutine { return ioWait(id, nil, waits.HTTPRequest, "main.fetch") }
	for want, list := range map[string][]stacks.Goroutine{
		"2 goroutines read from 127.0.0.1:3700 = db (pid 88): 3, 4\n": {
			ioWait(3, &db, read, "main.query"), ioWait(4, &db, read, "main.query"), next},
		"1 goroutine writes to 10.0.0.1:80: 3\n":   {ioWait(3, &web, write, "main.send")},
		"1 goroutine connects to 10.0.0.1:80: 3\n": {ioWait(3, &web, write, "net.(*netFD).connect")},
		"1 goroutine reads from 10.0.0.1:80: 3\n":  {ioWait(3, &web, "main.poll")},
		"": {next, ioWait(5, &db, read, waits.HTTPReader)},
		"1 goroutine waits for a response of 10.0.0.1:80: 3\n": {request(3), ioWait(5, &web, read, waits.HTTPReader),
			ioWait(6, &web, read, waits.HTTPReader)},
		"1 goroutine waits for a response of one of 10.0.0.1:80, 127.0.0.1:3700 = db (pid 88): 3\n": {request(3),
			ioWait(5, &db, read, waits.HTTPReader), ioWait(6, &web, read, waits.HTTPReader)},
		"2 goroutines wait for a response of 10.0.0.1:80, 127.0.0.1:3700 = db (pid 88): 3, 4\n": {request(3), request(4),
			ioWait(5, &db, read, waits.HTTPReader), ioWait(6, &web, read, waits.HTTPReader)},
	} {
		p := &stacks.Process{PID: 1, GoroutineStacks: list}
		l := &locks.Locks{Verdict: locks.VerdictNone, Processes: []*stacks.Process{p}}
		text := lockText(t, l)
		_, got, _ := strings.Cut(text, "no deadlock\n")
		if !strings.Contains(got, want) || want == "" && got != "" || strings.Count(got, "goroutine") > 2 {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
}

func TestADumpNamesWhatGoroutinesReadFrom(t *testing.T) {
	db := waits.OpenFile{FD: 5, Type: "socket", Local: "127.0.0.1:9", Remote: "127.0.0.1:3700"}
	web := waits.OpenFile{FD: 6, Type: "socket", Remote: "10.0.0.1:80"}
	listener := waits.OpenFile{FD: 7, Path: "socket:[9]", Type: "socket", Local: "127.0.0.1:9", State: "LISTEN"}
	one, two := ioWait(3, &db, "main.query"), ioWait(4, &db, "main.query")
	for _, list := range [][]stacks.Goroutine{
		{ioWait(3, nil, "main.query")}, {one, ioWait(4, nil, "main.query")}, {ioWait(3, &listener, "main.serve")},
		{one, ioWait(4, &web, "main.query")},
	} {
		var b strings.Builder
		if writeGoroutines(&b, &stacks.Process{GoroutineStacks: list}); strings.Contains(b.String(), "waits for") {
			t.Errorf("a wait without another end:\n%s", b.String())
		}
	}
	for want, list := range map[string][]stacks.Goroutine{
		"goroutine 3: waiting (IO wait)\n      waits for 127.0.0.1:3700\n": {one},
		"  3, 4\n      waits for 127.0.0.1:3700\n":                         {one, two},
		"": {one, ioWait(4, &web, "main.query"), ioWait(5, nil, "main.query")},
	} {
		var b strings.Builder
		writeGoroutines(&b, &stacks.Process{GoroutineStacks: list})
		if got := b.String(); !strings.Contains(got, want) || want == "" && strings.Contains(got, "waits for") {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
