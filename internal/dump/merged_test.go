package dump

import (
	"strings"
	"testing"
)

func TestThreadsThatDoTheSameInTheSamePlaceAreShownOnce(t *testing.T) {
	idle := []Frame{{PC: 1, Function: "pause", Method: "context"}, {PC: 2, Function: "idle", Method: "cfi"}}
	p := &Process{PID: 7, Name: "srv", Threads: []Thread{
		{TID: 7, Name: "main", State: "S", Wait: "futex", How: "peek", Complete: true, StopReason: "root", Frames: []Frame{{PC: 9, Function: "wait", Method: "context"}}},
		{TID: 8, Name: "a", State: "S", Wait: "pause", How: "peek", Complete: true, StopReason: "root", Frames: idle},
		{TID: 9, Name: "b", State: "S", Wait: "pause", How: "peek", Complete: true, StopReason: "root", Frames: idle},
		{TID: 10, Name: "a", State: "S", Wait: "pause", How: "freeze", Complete: true, StopReason: "root", Frames: idle},
		{TID: 11, Name: "a", State: "R", How: "freeze", Complete: true, StopReason: "root", Frames: idle},
		{TID: 12, Name: "a", State: "S", Wait: "pause", How: "peek", StopReason: "no-rule", Frames: idle},
	}}
	var b strings.Builder
	if err := MergedText(&b, p); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"process 7 srv, 6 threads, 4 stacks\n\n3 threads: sleeping in pause (peek, freeze)\n  a: 8 10\n  b: 9\n  #0  0x0000000000000001 pause [context]\n",
		"\nthread 7 main: sleeping in futex (peek)\n", "\nthread 11 a: running (freeze)\n",
		"\nthread 12 a: sleeping in pause (peek)\n",
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
