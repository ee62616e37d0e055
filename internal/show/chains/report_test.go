// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"strings"
	"testing"

	"prywalk/internal/walk/waits"
)

func TestEndsAndLinksAsTexts(t *testing.T) {
	for _, c := range []struct {
		end  End
		want string
	}{
		{End{Kind: Running, PID: 9, Comm: "postgres", Function: "slow"}, "in slow of postgres (pid 9), which runs"},
		{End{Kind: Queued, PID: 9}, "in process 9, which waits for a CPU"},
		{End{Kind: Timer, PID: 9, Comm: "db"}, "in db (pid 9), which sleeps"},
		{End{Kind: Disk, PID: 9, Comm: "db"}, "in db (pid 9), which waits for a disk"},
		{End{Kind: Outside, PID: 9, Comm: "db"}, "outside, at db (pid 9), which was not looked at"},
		{End{Kind: Outside, PID: 9, Why: "10.0.0.1:80"}, "outside, at 10.0.0.1:80"},
		{End{Kind: Deadlock, PID: 9, Function: "lock"}, "in a deadlock at lock of process 9"},
		{End{Kind: Unknown, PID: 9, Why: "no owner"}, "at process 9, not known: no owner"},
	} {
		if got := c.end.phrase(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.end, got, c.want)
		}
	}
	socket := func(state string, peers ...waits.Peer) *waits.Wait {
		return &waits.Wait{Kind: waits.Descriptor, FDs: []waits.OpenFile{{Type: "socket", Remote: "127.0.0.1:80",
			State: state,
			Peers: peers}}}
	}
	for _, c := range []struct {
		link Link
		want string
	}{
		{Link{PID: 7}, "process 7"},
		{Link{PID: 7, TID: 7, Comm: "web"}, "web (pid 7)"},
		{Link{PID: 7, TID: 8, Comm: "web", Function: "buy"}, "web (pid 7), thread 8: buy"},
		{Link{PID: 7, Task: 12, Function: "buy"}, "process 7, goroutine 12: buy"},
		{Link{PID: 7, TaskName: "Task-1", Guess: "only user"}, "process 7, task Task-1 [guess: only user]"},
		{Link{PID: 7, WaitsFor: &waits.Wait{}}, "process 7"},
		{Link{PID: 7, WaitsFor: &waits.Wait{Kind: waits.Other, Symbol: "io_schedule"}}, "process 7 waits for io_schedule"},
		{Link{PID: 7, WaitsFor: socket("")}, "process 7 waits for socket 127.0.0.1:80"},
		{Link{PID: 7, WaitsFor: socket("", waits.Peer{PID: 9, Name: "db"})},
			"process 7 waits for socket 127.0.0.1:80 of db (pid 9)"},
		{Link{PID: 7, WaitsFor: socket("", waits.Peer{PID: 9, Name: "db"}, waits.Peer{PID: 10}, waits.Peer{PID: 11})},
			"process 7 waits for socket 127.0.0.1:80 of db (pid 9) and 2 more"},
	} {
		if got := c.link.text(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.link, got, c.want)
		}
	}
}

func TestReportListsEndsLinksAndChains(t *testing.T) {
	web, db := Link{PID: 7, Comm: "web"}, Link{PID: 9, Comm: "db"}
	slow := End{Kind: Running, PID: 9, Comm: "db"}
	r := &Report{Conclusion: "all of it", Threads: 3, Blocked: 1e9,
		Ends: []EndShare{{End: slow, Share: 0.75}, {End: End{Kind: Timer, PID: 7}, Share: 0.2}, {End: End{Kind: Disk,
			PID: 7}, Share: 0.004}},
		Links: []LinkShare{{Link: db, Share: 0.75}},
		Chains: []Chain{{Links: []Link{web, db}, End: slow, Threads: 2, Blocked: 75e7},
			{Links: []Link{web}, End: End{Kind: Unknown, PID: 7, Why: "no owner"}, Threads: 1, Blocked: 25e7,
				Meanwhile: []Link{{PID: 7, Function: "work"}, {PID: 7, WaitsFor: &waits.Wait{Kind: waits.Other,
					Symbol: "disk"}}}}}}
	head := "all of it\nblocked 1.00s in 3 threads, without idle waits\n\nshare  the chain ends\n" +
		" 75 %  in db (pid 9), which runs\n"
	links := "\nshare  the chain passes through\n 75 %  db (pid 9)\n"
	first := "\nshare  chains\n 75 %  2 threads, 750ms\n         web (pid 7)\n         db (pid 9)\n" +
		"         → in db (pid 9), which runs\n"
	second := " 25 %  1 thread, 250ms\n         web (pid 7)\n         → at process 7, not known: no owner\n" +
		"           meanwhile process 7: work runs\n           meanwhile process 7 waits for disk\n"
	for rows, want := range map[int]string{
		1: head + "       and 2 more ends\n" + links + first + "       and 1 more chain\n",
		9: head + " 20 %  in process 7, which sleeps\n       and 1 more end\n" + links + first + second,
		-1: head + " 20 %  in process 7, which sleeps\n  0 %  in process 7, which waits for a disk\n" + links + first +
			second,
	} {
		var b strings.Builder
		if err := r.Text(&b, rows); err != nil || b.String() != want {
			t.Errorf("%d rows: %v\n%s\nwant\n%s", rows, err, b.String(), want)
		}
	}
	var b strings.Builder
	if err := (&Report{Conclusion: "none"}).Text(&b, 9); err != nil || b.String() != "none\n" {
		t.Errorf("%v, %q", err, b.String())
	}
	b.Reset()
	if err := (&Report{Conclusion: "dump", Threads: 1, tasks: true}).Text(&b, 9); err != nil ||
		b.String() != "dump\n1 blocked thread or task, without idle waits\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

func TestConclusionsAreOfTheProcessThatIsBlockedMost(t *testing.T) {
	web, db := Link{PID: 7, Comm: "web"}, Link{PID: 9, Comm: "db"}
	slow, lost := End{Kind: Running, PID: 9, Comm: "db"}, End{Kind: Unknown, PID: 7, Why: "no owner"}
	outside := End{Kind: Outside, PID: 9, Comm: "db"}
	chain := func(first Link, end End, ms int64) Chain {
		return Chain{Links: []Link{first}, End: end, Threads: 1, Blocked: ms * 1e6}
	}
	for _, c := range []struct {
		blocked int64
		chains  []Chain
		want    string
	}{
		{0, nil, "no thread was blocked, apart from idle ones"},
		{100, []Chain{chain(web, slow, 60), chain(db, lost, 40)},
			"100 % of the blocked time of web (pid 7) ends in db (pid 9), which runs"},
		{100, []Chain{chain(web, slow, 60), chain(web, lost, 40)},
			"60 % of the blocked time of web (pid 7) ends in db (pid 9), which runs"},
		{100, []Chain{chain(web, lost, 60), chain(web, slow, 40)},
			"where 60 % of the blocked time of web (pid 7) ends is not " +
				"known: no owner; 40 % of the blocked time of web (pid 7) ends in db (pid 9), which runs"},
		{1000, []Chain{chain(web, lost, 996), chain(web, slow, 4)},
			"where 100 % of the blocked time of web (pid 7) ends is not known: no owner"},
		{100, []Chain{chain(web, outside, 100)},
			"100 % of the blocked time of web (pid 7) ends outside, at db (pid 9), which " +
				"was not looked at; prywalk record -p 7,9 includes that process"},
		{0, []Chain{chain(web, outside, 0), chain(web, outside, 0), chain(web, slow, 0)},
			"2 of 3 blocked threads of web (pid 7) " +
				"end outside, at db (pid 9), which was not looked at; prywalk dump --chains -p 7,9 includes that process"},
		{0, []Chain{chain(web, slow, 0)}, "1 of 1 blocked thread of web (pid 7) ends in db (pid 9), which runs"},
	} {
		r := &Report{Blocked: c.blocked * 1e6, Threads: len(c.chains), Chains: c.chains}
		if got := r.conclude(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
