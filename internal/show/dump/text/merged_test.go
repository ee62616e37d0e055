// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func TestThreadsWithEqualStacksAreShownOnce(t *testing.T) {
	idle := []stacks.Frame{{PC: 1, Place: &stacks.Place{Function: "pause", Method: "context"}},
		{PC: 2, Place: &stacks.Place{Function: "idle", Method: "cfi"}}}
	p := &stacks.Process{PID: 7, Name: "srv", Threads: []stacks.Thread{
		{TID: 7, Name: "main", State: "S", Wait: "futex", How: "passive", Complete: true, StopReason: "root",
			Frames: []stacks.Frame{{PC: 9, Place: &stacks.Place{Function: "wait", Method: "context"}}}},
		{TID: 8, Name: "a", State: "S", Wait: "pause", How: "passive", Complete: true, StopReason: "root", Frames: idle},
		{TID: 9, Name: "b", State: "S", Wait: "pause", How: "passive", Complete: true, StopReason: "root", Frames: idle},
		{TID: 10, Name: "a", State: "S", Wait: "pause", How: "stop", Complete: true, StopReason: "root", Frames: idle},
		{TID: 11, Name: "a", State: "R", How: "stop", Complete: true, StopReason: "root", Frames: idle},
		{TID: 12, Name: "a", State: "S", Wait: "pause", How: "passive", StopReason: "no-rule", Frames: idle},
	}}
	var b strings.Builder
	if err := WriteMerged(&b, p); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"process 7 srv, 6 threads, 4 stacks\n" +
			"waiting within work: 4 threads in pause, 1 thread in futex in wait; running: 1\n\n" +
			"thread 7 main: sleeping in futex (passive read)\n",
		"\n\n3 threads: sleeping in pause (passive read, stopped to read)\n  a (2): 8 10\n  b: 9\n" +
			"  #0  0x0000000000000001 pause [context]\n",
		"\nthread 7 main: sleeping in futex (passive read)\n", "\nthread 11 a: running (stopped to read)\n",
		"\nthread 12 a: sleeping in pause (passive read)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Count(got, "#1 ") != 3 || strings.Count(got, "incomplete") != 1 {
		t.Error("each stack is to be shown once")
	}
	if t.Failed() {
		t.Log(got)
	}
}

func TestMergedThreadsShowTheirDifferentWaits(t *testing.T) {
	p := &stacks.Process{PID: 7, Name: "srv"}
	frames := []stacks.Frame{{PC: 1, Place: &stacks.Place{Function: "poll", Method: "context"}}}
	for i, w := range []*waits.Wait{
		{Kind: waits.Condition, Symbol: "a", Idleness: waits.Idleness{Idle: waits.IdlePool}},
		{Kind: waits.Condition, Symbol: "b"}, {Kind: waits.Condition, Symbol: "b"},
		{Kind: waits.Condition, Symbol: "c"}, {Kind: waits.Condition, Symbol: "d"}, nil,
	} {
		p.Threads = append(p.Threads, stacks.Thread{TID: 8 + i, Name: "a", State: "S", Wait: "poll", How: "passive",
			Complete: true, StopReason: "root", Frames: frames, WaitsFor: w})
	}
	var b strings.Builder
	if err := WriteMerged(&b, p); err != nil {
		t.Fatal(err)
	}
	const want = "  a (6): 8 9 10 11 12 13\n" +
		"      9, 10: waits for condition b\n" +
		"      11: waits for condition c\n" +
		"      12: waits for condition d\n" +
		"      … 1 other wait\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got:\n%s\nwant:\n%s", &b, want)
	}
	p.Threads = append(p.Threads[:2], p.Threads[4:]...)
	b.Reset()
	if err := WriteMerged(&b, p); err != nil {
		t.Fatal(err)
	}
	if want := "      8: waits for condition a [idle: pool]\n  #0"; !strings.Contains(b.String(), want) {
		t.Errorf("got:\n%s\nlacks %s", &b, want)
	}
}

// The example of doc.go.
func TestThreadsWithNumberedNamesTakeOneLine(t *testing.T) {
	frames := []stacks.Frame{{PC: 0x7f25eb9a1d16, Place: &stacks.Place{
		Function: "__futex_wait", Module: "/lib/libc.so.6", Method: "context"}}}
	p := &stacks.Process{PID: 4711, Name: "srv"}
	for i := range 3 {
		p.Threads = append(p.Threads, stacks.Thread{TID: 4712 + i, Name: fmt.Sprintf("worker-%d", i+1), State: "S",
			Wait: "futex", How: "passive", Complete: true, StopReason: "root", Frames: frames})
	}
	var b strings.Builder
	if err := WriteMerged(&b, p); err != nil {
		t.Fatal(err)
	}
	want := "3 threads: sleeping in futex (passive read)\n  worker-1…3 (3): 4712 4713 4714\n" +
		"  #0  0x00007f25eb9a1d16 __futex_wait in /lib/libc.so.6 [context]\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestManyThreadsTakeFewLines(t *testing.T) {
	idle := []stacks.Frame{{PC: 1, Place: &stacks.Place{Function: "pause", Method: "context"}}}
	p := &stacks.Process{PID: 7, Name: "srv"}
	add := func(name string, pc schema.Hex) {
		frames := idle
		if pc != 1 {
			frames = []stacks.Frame{{PC: pc, Place: &stacks.Place{Function: "other", Method: "context"}}}
		}
		p.Threads = append(p.Threads, stacks.Thread{TID: 100 + len(p.Threads), Name: name, State: "S",
			How: "passive", Complete: true, StopReason: "root", Frames: frames})
	}
	for i := range 480 {
		add(fmt.Sprintf("worker-%d", i+1), 1)
	}
	for _, name := range []string{"", "", "main", "pool-3-io", "pool-7-io", "id-12345678901", "007"} {
		add(name, 1)
	}
	add("odd", 2)
	var b strings.Builder
	if err := WriteMerged(&b, p); err != nil {
		t.Fatal(err)
	}
	want := `process 7 srv, 488 threads, 2 stacks

thread 587 odd: sleeping (passive read)
  #0  0x0000000000000002 other [context]

487 threads: sleeping (passive read)
  worker-1…480 (480): 100…579
  (no name) (2): 580 581
  pool-3…7-io (2): 583 584
  main: 582
  id-12345678901: 585
  007: 586
  #0  0x0000000000000001 pause [context]
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &b, want)
	}
	b.Reset()
	if err := Write(&b, &stacks.Process{PID: 1, Threads: []stacks.Thread{{TID: 3, State: "R", How: "stop",
		Complete: true}}}); err != nil || !strings.Contains(b.String(), "thread 3 (no name): running") {
		t.Errorf("%v, %s", err, &b)
	}
}

func FuzzStemsLoseNoThread(f *testing.F) {
	f.Add("a-1", "a-22", "b")
	f.Add("", "0", "9999999999")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		n := 0
		for _, s := range groupByNumberedName([]*stacks.Thread{{TID: 1, Name: a}, {TID: 2, Name: b}, {TID: 3, Name: c}}) {
			n += len(s.tids)
			if len(s.numbers) != 0 && len(s.numbers) != len(s.tids) || s.String() == "" {
				t.Errorf("%+v", s)
			}
		}
		if n != 3 {
			t.Errorf("%d threads", n)
		}
	})
}

func TestNamesWithAndWithoutANumberAreTwoGroups(t *testing.T) {
	var threads []*stacks.Thread
	for i, name := range []string{"a", "a1", "a", "a2"} {
		threads = append(threads, &stacks.Thread{TID: 10 + i, Name: name})
	}
	var got []string
	for _, s := range groupByNumberedName(threads) {
		got = append(got, s.String())
	}
	if want := []string{"a (2): 10 12", "a1…2 (2): 11 13"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
