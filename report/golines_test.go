// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prywalk/internal/show/chains"
	rec "prywalk/internal/store/profile"
)

// onStack is time of a thread: from and to in ms.
type onStack struct {
	tid             int64
	function, stack string
	from, to        int64
	what            string // of did; "" means run
}

// web waits for app from 0 to 1000 ms. A third thread of app is Go's own, always at work.
func endsOfApp(t *testing.T, did []onStack) map[string]int64 {
	t.Helper()
	c := newContention()
	c.did(4, 4, "web", "handle", 0, 1000, "socket:[7] 127.0.0.1:80 = [8] app (pid 9)", 0)
	c.did(9, 29, "app", "runtime.sysmon", 0, 1000, "run", 0)
	for _, d := range did {
		if d.what == "" {
			d.what = "run"
		}
		c.did(9, d.tid, "app", d.function, d.from, d.to, d.what, 0).Label[rec.LabelTaskStack] = []string{d.stack}
	}
	_, r := chainsText(t, c)
	ends := map[string]int64{}
	for i := range r.Chains {
		if chain := &r.Chains[i]; chain.Links[0].PID == 4 {
			ends[fmt.Sprint(chain.End.Kind, " ", chain.End.Function, chain.End.Why)] += chain.Blocked / 1e6
		}
	}
	return ends
}

func TestAGoroutineIsFollowedFromThreadToThread(t *testing.T) {
	const (
		which  = "which thread of the process serves it is not known"
		noBusy = "no thread of app was seen that is not idle"
		socket = "socket:[8] 127.0.0.1:99 = [7] web (pid 4)"
	)
	for _, c := range []struct {
		what string
		did  []onStack
		want map[string]int64
	}{
		{"one goroutine, seen in two threads at one time", []onStack{
			{tid: 20, function: "main.a", stack: "0x10", to: 500},
			{tid: 21, function: "main.b", stack: "0x10", from: 300, to: 1000},
		}, map[string]int64{"running main.a": 500, "running main.b": 500}},
		{"two goroutines", []onStack{
			{tid: 20, function: "main.a", stack: "0x10", to: 500},
			{tid: 21, function: "main.b", stack: "0x20", from: 300, to: 1000},
		}, map[string]int64{"running main.a": 300, "unknown handle" + which: 200, "running main.b": 500}},
		{"not known which", []onStack{
			{tid: 20, function: "main.a", to: 500}, {tid: 21, function: "main.b", from: 300, to: 1000},
		}, map[string]int64{"running main.a": 300, "unknown handle" + which: 200, "running main.b": 500}},
		{"overlaps are as long as gaps", []onStack{
			{tid: 20, function: "main.a", stack: "0x10", to: 400},
			{tid: 21, function: "main.a", stack: "0x10", from: 360, to: 500},
			{tid: 20, function: "main.a", stack: "0x10", from: 520, to: 700},
			{tid: 21, function: "main.a", stack: "0x10", from: 720, to: 1000},
		}, map[string]int64{"running main.a": 1000}},
		{"overlaps are shorter", []onStack{
			{tid: 20, function: "main.a", stack: "0x10", to: 400},
			{tid: 21, function: "main.a", stack: "0x10", from: 380, to: 500},
			{tid: 20, function: "main.a", stack: "0x10", from: 520, to: 700},
			{tid: 21, function: "main.a", stack: "0x10", from: 720, to: 900},
			{tid: 21, function: "main.a", stack: "0x10", from: 920, to: 1000},
		}, map[string]int64{"running main.a": 960, "unknown handle" + noBusy: 40}},
		{"a longer gap", []onStack{
			{tid: 20, function: "main.a", stack: "0x10", to: 400},
			{tid: 21, function: "main.a", stack: "0x10", from: 300, to: 500},
			{tid: 20, function: "main.a", stack: "0x10", from: 530, to: 1000},
		}, map[string]int64{"running main.a": 970, "unknown handle" + noBusy: 30}},
		{"a sleep whose end was seen late", []onStack{
			{tid: 20, function: "main.a", stack: "0x10", to: 300},
			{tid: 21, function: "main.b", stack: "0x10", from: 880, to: 890},
			{tid: 21, function: "main.b", stack: "0x10", from: 890, to: 895},
			{tid: 20, function: "main.nap", stack: "0x10", from: 300, to: 900, what: "sleep"},
			{tid: 21, function: "main.b", stack: "0x10", from: 895, to: 1000},
		}, map[string]int64{"running main.a": 300, "timer main.nap": 600, "running main.b": 100}},
		{"given up, ready to run", []onStack{
			{tid: 20, function: "main.a", stack: "0x10", to: 400},
			{tid: 20, function: "runtime.goschedImpl", stack: "0x90", from: 400, to: 700},
			{tid: 21, function: "main.a", stack: "0x10", from: 600, to: 1000},
		}, map[string]int64{"running main.a": 800, "unknown handle" + noBusy: 200}},
		{"the reader of the connection goes on in another thread", []onStack{
			{tid: 20, function: "main.other", stack: "0x20", to: 600},
			{tid: 21, function: "main.a", stack: "0x10", to: 600},
			{tid: 21, function: "main.other", stack: "0x20", from: 600, to: 1000},
			{tid: 20, function: "main.a", stack: "0x10", from: 600, to: 1000},
			{tid: 20, function: "main.read", stack: "0x10", from: 1000, to: 2000, what: socket},
		}, map[string]int64{"running main.a": 1000}},
		{"another goroutine reads, too", []onStack{
			{tid: 20, function: "main.a", stack: "0x10", to: 1000},
			{tid: 21, function: "main.b", stack: "0x20", to: 1000},
			{tid: 20, function: "main.read", stack: "0x10", from: 1000, to: 2000, what: socket},
			{tid: 20, function: "main.read", stack: "0x20", from: 2000, to: 3000, what: socket},
		}, map[string]int64{"unknown handle" + which: 1000}},
	} {
		if got := endsOfApp(t, c.did); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// As one thread reads the next request, a stack is known to have been in it since its sleep began.
func TestAGapBeforeASleepIsNotFilled(t *testing.T) {
	all := []chains.Interval{{From: 0, To: 100, Running: 100}, {From: 50, To: 150, Running: 100},
		{From: 160, To: 300, Blocked: 140}}
	for i := range all {
		all[i].Task = 1
	}
	handOver(all, 10)
	if all[1].From != 100 || all[2].From != 160 {
		t.Errorf("%+v", all)
	}
}

func TestTimesOfOneGoroutineNeverOverlap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]chains.Interval, 1<<17)
	for i := range all {
		to := random.Int64N(1 << 20)
		all[i] = chains.Interval{From: to - random.Int64N(1<<16), To: to, Task: 1, Running: random.Int64N(2), Blocked: 1}
	}
	handOver(all, 100)
	slices.SortFunc(all, func(x, y chains.Interval) int {
		return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(x.From, y.From))
	})
	for i := range all {
		if all[i].From > all[i].To || i > 0 && all[i].From < all[i-1].To {
			t.Fatalf("%+v after %+v", all[i], all[max(0, i-1)])
		}
	}
}
