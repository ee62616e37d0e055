// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func TestTasksThatAreNotExaminedAreNamedIfNothingRuns(t *testing.T) {
	thread := func(name, state, module string) stacks.Thread {
		return stacks.Thread{TID: 11, Name: name, State: state,
			Frames: []stacks.Frame{{Place: &stacks.Place{Function: "uv_run", Module: module}}}}
	}
	const promises = "unknown: promises are not examined; "
	for name, c := range map[string]struct {
		thread  stacks.Thread
		clients int
		want    string
	}{
		"promises": {thread("node", "S", "/usr/bin/node"), 5,
			promises + "5 client connections are open and nothing runs; prywalk dump -p 7 (without --tasks=off) lists the " +
				"pending awaits of Node 16 to 26"},
		"one client":  {thread("node", "S", "/usr/bin/node"), 1, promises + "1 client connection is open and nothing runs"},
		"no client":   {thread("node", "S", "/usr/bin/node"), 0, ""},
		"it runs":     {thread("node", "R", "/usr/bin/node"), 5, ""},
		"no language": {thread("app", "S", "/usr/bin/app"), 5, ""},
		"virtual threads": {thread("VirtualThread-unblocker", "S", "/jvm/libjvm.so"), 0,
			"unknown: virtual threads are not examined; nothing runs; jcmd 7 Thread.dump_to_file FILE lists them"},
	} {
		p := &stacks.Process{PID: 7, Threads: []stacks.Thread{c.thread}, Clients: c.clients}
		got := Unexamined(p)
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		l := locks.New()
		l.Processes = []*stacks.Process{p}
		l.Examine(locks.AsRead{})
		if said := strings.Contains(verdictText(l), "no deadlock"); said != (name == "no language") {
			t.Errorf("%s: %s", name, verdictText(l))
		}
	}
}

func TestConnectionsWithoutAnAnswerFollow(t *testing.T) {
	p := &stacks.Process{PID: 7, Name: "nginx", Unanswered: []waits.Unanswered{
		{Peer: "127.0.0.1:80 = app (pid 9)", Connections: 3, Longest: 7 * time.Second},
		{Connections: 1, Longest: 8 * time.Second}}}
	l := locks.New()
	l.Processes = []*stacks.Process{p}
	l.Examine(locks.AsRead{})
	const want = "\n\n%[1]s3 connections to 127.0.0.1:80 = app (pid 9): data sent, none came back, the longest for at " +
		"least 7 s\n\n%[1]s1 client connection: data came, none sent back for at least 8 s\n"
	prefixes := map[string]string{"--locks": "nginx (pid 7): "} // there may be several processes
	for name, write := range map[string]func(w io.Writer) error{
		"dump":    func(w io.Writer) error { return Write(w, p) },
		"--locks": func(w io.Writer) error { return WriteLocks(w, l) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil || !strings.HasSuffix(b.String(), fmt.Sprintf(want, prefixes[name])) {
			t.Errorf("%s: %v, %q", name, err, b.String())
		}
	}
}
