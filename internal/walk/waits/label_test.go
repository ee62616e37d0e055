// SPDX-License-Identifier: Apache-2.0

package waits

import "testing"

func TestLabelsAreParsed(t *testing.T) {
	for label, c := range map[string]struct {
		want ParsedLabel
		text string
	}{
		"":                     {},
		"park":                 {ParsedLabel{Kind: Park}, "park"},
		"join thread 7":        {ParsedLabel{Kind: Join, Object: "thread 7"}, "join thread 7"},
		"mutex app::[closure]": {ParsedLabel{Kind: Mutex, Object: "app::[closure]"}, "mutex app::[closure]"},
		"mutex f (a)":          {ParsedLabel{Kind: Mutex, Object: "f (a)"}, "mutex f (a)"},
		"child gs (pid 9)":     {ParsedLabel{Kind: Child, Processes: "gs (pid 9)"}, "child"},
		"file-lock /run/a":     {ParsedLabel{Kind: FileLock, Object: "/run/a"}, "file-lock /run/a"},
		"/srv/a b":             {ParsedLabel{File: "file"}, "file"},
		"pipe:[7]":             {ParsedLabel{File: "pipe"}, "pipe"},
		"pipe:[0:23:7] /run/a b = [0:23:7] cat (pid 9)": {ParsedLabel{File: "pipe", Peer: "/run/a b",
			Processes: "cat (pid 9)", Other: "pipe:[0:23:7]"}, "pipe"},
		"socket:[7]":          {ParsedLabel{File: "socket"}, "socket"},
		"socket:[7] [::1]:80": {ParsedLabel{File: "socket", Peer: "[::1]:80"}, "socket"},
		"socket:[7] [::1]:80, not connected yet": {ParsedLabel{File: "socket", Peer: "[::1]:80", State: SynSent},
			"socket"},
		"socket:[7] [::1]:80, not connected yet = [0] a (pid 1)": {
			ParsedLabel{File: "socket", Peer: "[::1]:80", Processes: "a (pid 1)", State: NotAccepted}, "socket"},
		"anon_inode:[eventpoll]": {ParsedLabel{File: "anon_inode"}, "anon_inode"},
		"descriptor 7":           {ParsedLabel{Object: "descriptor 7"}, "descriptor 7"},
		"semaphore 0x10 (threading.Lock)": {ParsedLabel{Kind: Semaphore, Object: "0x10", Type: "threading.Lock"},
			"threading.Lock (semaphore 0x10)"},
	} {
		if got := ParseLabel(label); got != c.want || got.String() != c.text {
			t.Errorf("%q: %+v, %q", label, got, got.String())
		}
	}
}

// A wait for a part of the GIL, and one for the GIL, have one name, independent of its holder.
func TestTheGILHasOneName(t *testing.T) {
	held := ManagedWait(GIL, "", 0x10, 7, true)
	held.Owner, held.OwnerName = 7, "burn"
	for _, kind := range []Kind{Mutex, Condition} {
		part := Wait{Kind: kind, Address: 0x1b8, Ownership: Ownership{Owner: 8}}
		part.SetVariable(Variable{Name: "_PyRuntime", Offset: 0x1b8})
		if part.Label() != "GIL" || part.Label() != held.Label() || part.Owner != 0 || !part.Free {
			t.Errorf("%s: %s, held by %d; the GIL: %s", kind, part.Label(), part.Owner, held.Label())
		}
	}
	lock := ManagedWait(Mutex, "threading.RLock", 0x10, 7, false)
	if l := ParseLabel(lock.Label()); l != (ParsedLabel{Kind: Semaphore, Object: "0x10", Type: "threading.RLock"}) {
		t.Errorf("%+v", l)
	}
	if own := (Wait{Kind: Mutex, Address: 0x20}); own.Label() != "mutex 0x20" {
		t.Error(own.Label())
	}
}
