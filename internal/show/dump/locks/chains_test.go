// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"fmt"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// noThreads is of processes whose threads are not looked at.
type noThreads struct{ Checker }

func (noThreads) ConfirmAsleep([][]int) [][]int { return nil }

// Equal virtual threads, greenlets and fibers are one chain; what they do meanwhile is named.
func TestChainsHaveTasksThatAreMerged(t *testing.T) {
	task := func(kind, function, state string, count int, w *waits.Wait) stacks.Task {
		return stacks.Task{Kind: kind, State: state, Count: count, WaitsFor: w,
			Frames: []stacks.Frame{{Place: &stacks.Place{Function: function, Kind: "jvm"}}}}
	}
	park, held := &waits.Wait{Kind: waits.Park, Symbol: "Queue"}, &waits.Wait{Kind: waits.Mutex}
	held.OwnerTask, held.OwnerName = 7, "payer"
	l := &Locks{Processes: []*stacks.Process{{PID: 1, Name: "java", Tasks: []stacks.Task{
		task(stacks.VirtualThreadKind, "borrow", "waiting", 10, park),
		task(stacks.VirtualThreadKind, "nap", "waiting", 2, &waits.Wait{Kind: waits.Sleep}),
		task(stacks.VirtualThreadKind, "lock", "waiting", 1, held),
		task(stacks.VirtualThreadKind, "begin", "ready", 3, nil), task("greenlet", "switch", "waiting", 4, nil),
	}}}}
	if err := l.FollowChains(noThreads{}); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range l.Followed.Chains {
		text := fmt.Sprintf("%s: %s %s", c.Links[0].Function, c.End.Kind, c.End.Why)
		for i := range c.Meanwhile {
			text += "; " + c.Meanwhile[i].Function
		}
		got[text] = c.Threads
	}
	want := map[string]int{"borrow: unknown a park stores no owner; begin; nap": 10, "nap: timer ": 2,
		"lock: unknown virtual thread payer holds it; begin; nap":        1,
		"switch: unknown what wakes a greenlet is not known; begin; nap": 4}
	if fmt.Sprint(got) != fmt.Sprint(want) || l.Followed.Threads != 17 {
		t.Errorf("%d threads, %v, want %v", l.Followed.Threads, got, want)
	}
}

// A name that two tasks have leads to neither, and tasks of two processes are not mixed up.
func TestChainsGoThroughTasks(t *testing.T) {
	at := func(function string) []stacks.Frame {
		return []stacks.Frame{{Place: &stacks.Place{Function: function, Kind: "cpython"}}}
	}
	task := func(name, state string, w *waits.Wait, awaits ...string) stacks.Task {
		return stacks.Task{Kind: "asyncio", Name: name, State: state, WaitsFor: w, AwaitsTasks: awaits, Frames: at(name)}
	}
	other, sleep := &waits.Wait{Kind: waits.Other, Symbol: "Task"}, &waits.Wait{Kind: waits.Sleep}
	get := &waits.Wait{Kind: waits.Other, Symbol: "asyncio.Queue.get"}
	l := &Locks{Processes: []*stacks.Process{
		{PID: 1, Name: "one", Tasks: []stacks.Task{task("a", "waiting", other, "b"), task("b", "waiting", sleep),
			task("c", "waiting", other, "d"), task("d", "waiting", get), task("d", "waiting", sleep),
			task("e", "waiting", other, "b", "d"), task("f", "ready", nil)}},
		{PID: 2, Name: "two", Tasks: []stacks.Task{task("a", "waiting", other, "b"), task("b", "running", nil)}},
	}}
	if err := l.FollowChains(noThreads{}); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range l.Followed.Chains {
		first := &c.Links[0]
		got[fmt.Sprintf("%d %s %d: %s %s", first.PID, first.Function, len(c.Links), c.End.Kind, c.End.Why)] = c.Threads
	}
	want := map[string]int{"1 a 2: timer ": 1, "1 b 1: timer ": 1,
		"1 c 1: unknown the awaited task ran, was not seen, or shares its name": 1,
		"1 d 1: unknown an asyncio task's asyncio.Queue.get stores no owner":    1,
		"1 d 1: timer ": 1, "1 e 1: unknown awaits several tasks": 1,
		"1 f 1: unknown the task is ready, and waits for its event loop": 1, "2 a 2: running ": 1}
	if fmt.Sprint(got) != fmt.Sprint(want) || l.Followed.Threads != 8 {
		t.Errorf("%d threads, %v, want %v", l.Followed.Threads, got, want)
	}
}

// A request of net/http leads to the process that answers, if all connections lead to one.
func TestAGoroutineThatAwaitsAResponseLeadsToTheServer(t *testing.T) {
	goroutine := func(id uint64, wait, function string, w *waits.Wait) stacks.Goroutine {
		return stacks.Goroutine{ID: id, Status: "waiting", Wait: wait, WaitsFor: w,
			Frames: []stacks.Frame{{Place: &stacks.Place{Function: function, Kind: "go"}}}}
	}
	to := func(address string, pid int) *waits.Wait {
		return &waits.Wait{Kind: waits.Descriptor, FD: &waits.OpenFile{Type: "socket", Remote: address,
			Peers: []waits.Peer{{PID: pid, Name: "rates"}}}}
	}
	for want, other := range map[string]*waits.Wait{
		"outside 9": to("127.0.0.1:80", 9), "unknown 1": to("127.0.0.1:81", 8),
	} {
		l := &Locks{Processes: []*stacks.Process{{PID: 1, Name: "web", GoroutineStacks: []stacks.Goroutine{
			goroutine(4, "select", waits.HTTPRequest, nil), goroutine(5, "IO wait", waits.HTTPReader, to("127.0.0.1:80", 9)),
			goroutine(6, "IO wait", waits.HTTPReader, other)}}}}
		if err := l.FollowChains(noThreads{}); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range l.Followed.Chains {
			if c.Links[0].Task == 4 {
				got = fmt.Sprint(c.End.Kind, " ", c.End.PID)
			}
		}
		if got != want {
			t.Errorf("%s, want %s: %+v", got, want, l.Followed.Chains)
		}
	}
}
