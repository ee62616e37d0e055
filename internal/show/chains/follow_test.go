// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"fmt"
	"strings"
	"testing"

	"prywalk/internal/account/attribute"
	"prywalk/internal/walk/waits"
)

func waiting(id, owner int) Interval {
	return Interval{ID: id, PID: 1, To: 1, Blocked: 1, Link: Link{PID: 1, TID: id, Function: "wait"},
		Next: Next{Thread: owner}}
}

func followed(t *testing.T, all []Interval) *Report {
	t.Helper()
	r, err := Build(all, 0)
	if err != nil {
		t.Fatal(err)
	}
	threads := 0
	for i := range r.Chains {
		threads += r.Chains[i].Threads
	}
	if threads != r.Threads {
		t.Errorf("%d threads in chains, %d in all", threads, r.Threads)
	}
	return r
}

func TestALongQueueOfThreadsIsFollowedToABound(t *testing.T) {
	var all []Interval
	for i := 1; i <= 3000; i++ {
		all = append(all, waiting(i, i+1))
	}
	all = append(all, Interval{ID: 3001, PID: 1, To: 1, Running: 1, Link: Link{PID: 1, TID: 3001, Function: "run"}})
	ends := map[Kind]int{}
	for _, c := range followed(t, all).Chains {
		if len(c.Links) > maxLinks+1 {
			t.Errorf("%d links", len(c.Links))
		}
		ends[c.End.Kind] += c.Threads
	}
	if ends[Running] != maxLinks || ends[Unknown] != 3000-maxLinks {
		t.Errorf("%v", ends)
	}
}

func TestACycleIsADeadlockOnlyIfAllItsWaitsAreFinal(t *testing.T) {
	for final, want := range map[bool]Kind{true: Deadlock, false: Unknown} {
		all := []Interval{waiting(1, 2), waiting(2, 3), waiting(3, 2)}
		all[1].Next.Final, all[2].Next.Final, all[0].Next.Final = true, final, true
		for _, c := range followed(t, all).Chains {
			if c.End.Kind != want {
				t.Errorf("final %t: %+v", final, c)
			}
		}
	}
	all := []Interval{waiting(1, 2), waiting(2, 1), waiting(3, 1)}
	for i := range all {
		all[i].Next.Final = i > 0
	}
	if got := Cycles(all); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// The process at the other end has several threads: which one serves is known if all wait for one.
func TestAProcessWithSeveralThreads(t *testing.T) {
	client := Interval{ID: 1, PID: 1, To: 1, Blocked: 1, Link: Link{PID: 1, TID: 1, Function: "ask"},
		Next: Next{Processes: []waits.Peer{{PID: 2, Name: "server"}}}}
	thread := func(id, owner int, idle string) Interval {
		iv := waiting(id, owner)
		iv.PID, iv.Link.PID, iv.Idle = 2, 2, idle
		if owner == 0 {
			iv.Running, iv.Blocked = 1, 0
		}
		return iv
	}
	for _, c := range []struct {
		what    string
		threads []Interval
		end     Kind
		guess   bool
	}{
		{"all wait for one", []Interval{thread(10, 12, ""), thread(11, 12, ""), thread(12, 0, "")}, Running, false},
		{"the others are idle", []Interval{thread(10, 12, "pool"), thread(11, 12, "pool"), thread(12, 0, "")}, Running, true},
		{"two run", []Interval{thread(10, 0, ""), thread(11, 0, "")}, Unknown, false},
		{"not looked at", nil, Outside, false},
	} {
		for _, chain := range followed(t, append([]Interval{client}, c.threads...)).Chains {
			if first := chain.Links[0]; first.PID == 1 && (chain.End.Kind != c.end || first.Guess != "" != c.guess) {
				t.Errorf("%s: %+v", c.what, chain)
			}
		}
	}
	r := followed(t, []Interval{client})
	if want := "; prywalk dump --chains -p 1,2 includes that process"; !strings.HasSuffix(r.Conclusion, want) {
		t.Errorf("%q does not end in %q", r.Conclusion, want)
	}
}

// A parent of several threads waits for its child, which writes to a pipe of the parent.
func TestAServerThatWaitsForItsClientIsPerhapsACycle(t *testing.T) {
	parent, child, busy := waiting(1, 3), waiting(3, 0), waiting(2, 0)
	child.PID, child.Link.PID = 2, 2
	child.Next.Processes = []waits.Peer{{PID: 1, Name: "build"}}
	busy.Running, busy.Blocked = 1, 0
	for _, c := range followed(t, []Interval{parent, child, busy}).Chains {
		if first := c.Links[0].TID; strings.HasSuffix(c.End.Why, "perhaps a cycle") != (first == 1) {
			t.Errorf("thread %d: %+v", first, c)
		}
	}
}

func TestOfSeveralProcessesTheOneAtTheOtherEndServes(t *testing.T) {
	client, server, other := waiting(1, 0), waiting(2, 0), waiting(3, 0)
	client.Next.OtherEnd, client.Next.Processes = "pipe:[7]", []waits.Peer{{PID: 2}, {PID: 3}, {PID: 1}}
	server.PID, other.PID = 2, 3
	for _, c := range []struct {
		at, other string
		all       []Interval
		why       string
	}{
		{"pipe:[7]", "", nil, ""},
		{"", "", nil, "of 3 processes with the other end, none was seen to use it"},
		{"pipe:[7]", "pipe:[7]", nil, "several processes have the other end"},
		{"", "", []Interval{client, server}, "several processes have the other end"},
	} {
		server.Next.Descriptor, other.Next.Descriptor = c.at, c.other
		all := c.all
		if all == nil {
			all = []Interval{client, server, other}
		}
		if peer, why := newBuilder(all, 0).peer(&client); why != c.why || (peer.PID == 2) != (why == "") {
			t.Errorf("%+v: %+v, %q", c, peer, why)
		}
	}
}

// What a process does is work, or a wait whose end is known, the longest first; one more than are shown.
func TestActivitiesAreWorkOrLeadSomewhere(t *testing.T) {
	did := func(pid int, function string, ran, blocked int64, next Next) Interval {
		return Interval{ID: pid, PID: pid, To: 100, Running: ran, Blocked: blocked, Next: next,
			Link: Link{PID: pid, TID: pid, Function: function, WaitsFor: &waits.Wait{Kind: waits.Mutex}}}
	}
	unknown := Next{End: End{Kind: Unknown}}
	idle := did(1, "idle", 0, 90, Next{End: End{Kind: Timer}})
	idle.Idle = "pool"
	queued := did(1, "computes", 0, 0, unknown)
	queued.Queued = 5
	all := []Interval{
		did(1, "naps", 0, 20, Next{End: End{Kind: Timer}}), did(1, "asks", 0, 30, Next{Processes: []waits.Peer{{PID: 2}},
			End: End{Kind: Unknown}}),
		did(1, "locks", 0, 40, Next{Thread: 3, End: End{Kind: Unknown}}), did(1, "hangs", 0, 90, unknown), idle,
		did(1, attribute.NotObserved, 90, 0, unknown), did(1, "computes", 20, 60, unknown), queued,
		did(2, "computes", 1, 0, unknown),
	}
	for i := range maxMeanwhile {
		all = append(all, did(1, fmt.Sprint("short", i), int64(9-i), 0, unknown))
	}
	got := activities(all)
	text := ""
	for _, a := range got[1] {
		text += fmt.Sprintf("%s %d %t, ", a.link.Function, a.time, a.link.WaitsFor != nil)
	}
	want := "locks 40 true, asks 30 true, computes 25 false, naps 20 true, short0 9 false, short1 8 false, "
	if text != want || len(got) != 2 || len(got[2]) != 1 {
		t.Errorf("%s\nwant %s", text, want)
	}
}
