// SPDX-License-Identifier: Apache-2.0

package waits

import "testing"

func TestKindsThatHaveOwnersAndWaitForThreads(t *testing.T) {
	const owner, threads = 1, 2
	for kind, want := range map[Kind]int{
		Mutex: owner | threads, RWLock: owner | threads, Join: owner | threads, Monitor: owner | threads,
		GIL:       owner | threads,
		Condition: threads, Semaphore: threads, Barrier: threads, StaticGuard: threads, Once: threads, Atomic: threads,
		Future: threads, Park: threads, LibraryLock: threads, Futex: threads, FileLock: threads, DatabaseLock: threads,
		ObjectWait: threads,
		NoWait:     0, Descriptor: 0, Child: 0, Sleep: 0, Signal: 0, MessageQueue: 0, Disk: 0, PageFault: 0, Stopped: 0,
		Frozen: 0,
		Other:  0,
	} {
		if kind.HasOwner() != (want&owner != 0) || kind.IsSynchronization() != (want&threads != 0) {
			t.Errorf("%q: owner %t, waits for threads %t", kind, kind.HasOwner(), kind.IsSynchronization())
		}
	}
}

func TestWaitsAsTexts(t *testing.T) {
	mutex := Wait{Kind: Mutex, Address: 0x10, Type: "normal"}
	with := func(change func(*Wait)) *Wait {
		w := mutex
		change(&w)
		return &w
	}
	for _, c := range []struct {
		w    *Wait
		want string
	}{
		{&Wait{}, ""},
		{&mutex, "mutex 0x10 (normal)"},
		{with(func(w *Wait) { w.Owner, w.OwnerName = 9, "io" }), "mutex 0x10 (normal), held by thread 9 io"},
		{with(func(w *Wait) { w.Owner, w.Why = 9, "a guess" }), "mutex 0x10 (normal), held by thread 9"},
		{with(func(w *Wait) { w.OwnerTask = 12 }), "mutex 0x10 (normal), held by virtual thread #12"},
		{with(func(w *Wait) { w.Readers = 1 }), "mutex 0x10 (normal), held by 1 reader"},
		{with(func(w *Wait) { w.Readers, w.Mode = 2, "write" }), "mutex 0x10 (normal write), held by 2 readers"},
		{with(func(w *Wait) { w.Why = "no owner" }), "mutex 0x10 (normal; no owner)"},
		{with(func(w *Wait) { w.Type, w.Why = "", "no owner" }), "mutex 0x10 (no owner)"},
		{with(func(w *Wait) { w.Timed = true }), "mutex 0x10 (normal), with a time-out"},
		{with(func(w *Wait) { w.Timed, w.Until = true, "for 2s more" }), "mutex 0x10 (normal) for 2s more"},
		{with(func(w *Wait) { w.Kind, w.Type, w.Owner, w.OwnerName = Join, "", 9, "io" }), "the end of thread 9 io"},
		{&Wait{Kind: Sleep, Timed: true}, "sleep"},
	} {
		if got := c.w.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", *c.w, got, c.want)
		}
	}
	for until, want := range map[string]string{"": "sleeps (duration not known)", "for 2s": "sleeps; asked for 2s",
		"for 2s more": "sleeps for 2s more", "until 12:00": "sleeps until 12:00"} {
		if got := (&Wait{Kind: Sleep, Until: until}).SleepText(); got != want {
			t.Errorf("%q: %q, want %q", until, got, want)
		}
	}
}

func TestProcessesOfALabelAreReadAgain(t *testing.T) {
	for text, want := range map[string][]Peer{"": nil, "db (pid 9)": {{Name: "db", PID: 9}},
		"db (pid 9), a (b) c (pid 10) and 3 more": {{Name: "db", PID: 9}, {Name: "a (b) c", PID: 10}}} {
		got := (&ParsedLabel{Processes: text}).Peers()
		if len(got) != len(want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q: %+v, want %+v", text, got, want)
			}
		}
	}
}
