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
	l := &locks.Locks{Verdict: locks.VerdictNone, Processes: []*stacks.Process{p}}
	const want = `no deadlock

2 threads read from 127.0.0.1:3700 = proxy (pid 8833): 11 app, 12 app

1 thread waits for 127.0.0.1:3700 = proxy (pid 8833): 13 app

1 thread writes to pipe:[5]: 14 app

idle, by rule:
`
	if text := lockText(t, l); !strings.Contains(text, want) {
		t.Errorf("%s", text)
	}
}
