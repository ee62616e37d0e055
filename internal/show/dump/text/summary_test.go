// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func TestTheSecondLineSaysWhatMostThreadsDo(t *testing.T) {
	pcs := map[string]schema.Hex{}
	in := func(names ...string) (frames []stacks.Frame) {
		for _, name := range names {
			if pcs[name] == 0 {
				pcs[name] = schema.Hex(4096 + len(pcs))
			}
			frames = append(frames, stacks.Frame{PC: pcs[name], Place: &stacks.Place{Function: name, Module: "app"}})
		}
		return frames
	}
	waiter := func(call string, w waits.Wait, function string) stacks.Thread {
		return stacks.Thread{TID: 8, State: "S", Wait: call, WaitsFor: &w, Frames: in(function)}
	}
	running := stacks.Thread{TID: 9, State: "R", Frames: in("work")}
	mutex := waits.Wait{Kind: waits.Mutex, Symbol: "cache_mu"}
	held := mutex
	held.Ownership = waits.Ownership{Owner: 4711, OwnerName: "journal"}
	pool := waits.Wait{Kind: waits.Condition, Idleness: waits.Idleness{Idle: waits.IdlePool}}
	byName := waits.Wait{Kind: waits.Condition, Idleness: waits.Idleness{IdleGuess: "worker"}}
	sleep := waits.Wait{Kind: waits.Sleep}
	pipe := waits.Wait{Kind: waits.Descriptor, FD: &waits.OpenFile{FD: 3, Type: "pipe", Path: "pipe:[7]"}}
	condition := func(address schema.Hex, function string) stacks.Thread {
		return waiter("futex",
			waits.Wait{Kind: waits.Semaphore, Type: languages.PythonCondition, Address: address}, function)
	}
	file := func(fd waits.FileNumber) stacks.Thread {
		return waiter("write", waits.Wait{Kind: waits.Descriptor,
			FD: &waits.OpenFile{FD: fd, Type: "file", Path: "/run/audit.pipe"}}, "append")
	}
	goroutine := func(wait string, names ...string) stacks.Goroutine {
		return stacks.Goroutine{Status: "waiting", Wait: wait, Frames: in(append([]string{"runtime.gopark"}, names...)...)}
	}
	for _, c := range []struct {
		name       string
		threads    []stacks.Thread
		goroutines []stacks.Goroutine
		want       string
	}{
		{"one thread, which its stack shows", []stacks.Thread{running}, nil, ""},
		{"nothing is known", []stacks.Thread{{TID: 7}, {TID: 8, State: "S"}}, nil, ""},
		{"a lock with its owner", []stacks.Thread{waiter("futex", held, "pay"), waiter("futex", held, "pay"), running}, nil,
			"waiting within work: 2 threads for mutex cache_mu in pay, held by thread 4711 journal; running: 1"},
		{"a lock without", []stacks.Thread{waiter("futex", mutex, "pay"), waiter("futex", mutex, "pay"),
			waiter("futex", mutex, "refund"), waiter("futex", pool, "take"), {TID: 3, State: "T"}}, nil,
			"waiting within work: 3 threads for mutex cache_mu in pay and refund; idle: 1; stopped by a signal or a " +
				"debugger: 1; prywalk dump --locks -p 7 looks for the owner"},
		{"more waits than fit", []stacks.Thread{waiter("futex", held, "a"), waiter("futex", held, "b"),
			waiter("futex", held, "c"), waiter("read", pipe, "load"), waiter("read", pipe, "load"),
			{TID: 5, State: "D", Wait: "openat"}, waiter("nanosleep", sleep, "tick")}, nil,
			"waiting within work: 3 threads for mutex cache_mu, held by thread 4711 journal, 2 threads in read (pipe:[7]) " +
				"in load, 1 in other waits; asleep for a time: 1 in tick"},
		{"an object for each thread", []stacks.Thread{condition(0x10, "home"), condition(0x20, "home"),
			condition(0x30, "home"), file(21), file(23)}, nil,
			"waiting within work: 3 threads for threading.Condition (semaphore) in home, " +
				"2 threads in write (/run/audit.pipe) in append"},
		{"waits that are idle by names only", []stacks.Thread{waiter("futex", byName, "worker"), running,
			waiter("futex", byName, "worker"), waiter("futex", pool, "take")}, nil,
			"running: 1; idle? (only names say so): 2 in worker; idle: 1"},
		{"goroutines", []stacks.Thread{{TID: 7, State: "S", Complete: true, Frames: in("runtime.futex")}},
			[]stacks.Goroutine{goroutine("sync.Mutex.Lock", "sync.(*Mutex).Lock", "main.pay"),
				goroutine("sync.Mutex.Lock", "sync.(*Mutex).Lock", "main.pay"), goroutine("sleep", "time.Sleep", "main.tick"),
				goroutine("IO wait", "internal/poll.(*FD).Accept"), {Status: "runnable", Frames: in("main.f")},
				{Status: "waiting", System: true}, {Status: "running", Thread: 7}},
			"waiting within work: 2 goroutines in sync.Mutex.Lock in main.pay; running: 1; asleep for a time: 1 in " +
				"main.tick; idle: 1; prywalk dump --locks -p 7 looks for the owner"},
	} {
		p := &stacks.Process{PID: 7, Name: "app", Threads: c.threads, GoroutineStacks: c.goroutines}
		if got := summary(p); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		var b strings.Builder
		if err := Write(&b, p); err != nil || c.want != "" && strings.Split(b.String(), "\n")[1] != c.want {
			t.Errorf("%s: %v: %s", c.name, err, b.String())
		}
	}
}
