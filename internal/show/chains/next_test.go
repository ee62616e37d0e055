// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"fmt"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/walk/waits"
)

// Each kind of wait leads to its owner, to the processes at the other end, or to an end that says why it is one.
func TestEachWaitLeadsToItsOwnerOrAnEnd(t *testing.T) {
	file := func(f waits.OpenFile) *waits.Wait { return &waits.Wait{Kind: waits.Descriptor, FD: &f} }
	a, b := waits.Peer{PID: 9, Name: "db"}, waits.Peer{PID: 10, Name: "db"}
	for _, c := range []struct {
		wait *waits.Wait
		want string // kind and reason of the end, thread and processes
	}{
		{nil, "unknown: what the thread waits for is not known"},
		{&waits.Wait{Kind: waits.Sleep}, "timer:"},
		{&waits.Wait{Kind: waits.Disk}, "disk:"},
		{&waits.Wait{Kind: waits.PageFault}, "disk:"},
		{&waits.Wait{Kind: waits.Stopped}, "unknown: " + stopped},
		{&waits.Wait{Kind: waits.Frozen}, "unknown: " + frozen},
		{&waits.Wait{Kind: waits.Mutex, Ownership: waits.Ownership{Owner: 7}}, "thread 7"},
		{&waits.Wait{Kind: waits.Monitor, Ownership: waits.Ownership{OwnerTask: 7}}, "unknown: virtual thread #7 holds it"},
		{&waits.Wait{Kind: waits.Monitor, Ownership: waits.Ownership{OwnerTask: 7, OwnerName: "payer"}},
			"unknown: virtual thread payer holds it"},
		{&waits.Wait{Kind: waits.FileLock, Ownership: waits.Ownership{OwnerProcess: 9, OwnerName: "db"}},
			"processes [{9 db 0}]"},
		{&waits.Wait{Kind: waits.Mutex, Ownership: waits.Ownership{OwnerGone: 7}},
			"unknown: the owner of the lock has ended"},
		{&waits.Wait{Kind: waits.Mutex, Symbol: "mu", Ownership: waits.Ownership{OwnerGone: 7, OwnerParent: 5}},
			"unknown: at mutex mu, " + Forked},
		{&waits.Wait{Kind: waits.Mutex, Ownership: waits.Ownership{Why: Forked}}, "unknown: at mutex, " + Forked},
		{&waits.Wait{Kind: waits.Descriptor, FDs: []waits.OpenFile{{FD: 3}, {FD: 4}}},
			"unknown: waits for several descriptors"},
		{&waits.Wait{Kind: waits.Descriptor, FDs: []waits.OpenFile{{Type: "timerfd"}}}, "timer:"},
		{&waits.Wait{Kind: waits.Descriptor}, "unknown: waits for " + string(waits.Descriptor)},
		{&waits.Wait{Kind: waits.Child}, "unknown: which child is waited for is not known"},
		{&waits.Wait{Kind: waits.Mutex, Ownership: waits.Ownership{Why: "it was free"}}, "unknown: it was free"},
		{&waits.Wait{Kind: waits.Semaphore, Type: languages.PythonCondition},
			"unknown: a " + languages.PythonCondition + " stores no owner"},
		{&waits.Wait{Kind: waits.Mutex, Type: languages.PythonRLock}, "unknown: the owner of the lock is not known"},
		{&waits.Wait{Kind: waits.LibraryLock}, "unknown: the owner of the lock is not known"},
		{&waits.Wait{Kind: waits.Barrier}, "unknown: a barrier stores no owner"},
		{&waits.Wait{Kind: waits.Once}, "unknown: an " + string(waits.Once) + " stores no owner"},
		{&waits.Wait{Kind: waits.Other, Symbol: "x"}, "unknown: waits for x"},

		{file(waits.OpenFile{Type: "pipe", Peers: []waits.Peer{a}}), "processes [{9 db 0}]"},
		{file(waits.OpenFile{Type: "socket", State: waits.NotAccepted, Peers: []waits.Peer{a, a}}),
			"processes [{9 db 0} {9 db 0}]"},
		{file(waits.OpenFile{Type: "socket", State: waits.NotAccepted, Peers: []waits.Peer{a, b}}),
			"unknown: none of db's processes has accepted the connection yet"},
		{file(waits.OpenFile{Type: "socket", State: "LISTEN"}), "unknown: waits for a connection"},
		{file(waits.OpenFile{Type: "socket", Remote: "127.0.0.1:80"}),
			"unknown: the process at 127.0.0.1:80 was not found; it may be another user's"},
		{file(waits.OpenFile{Type: "socket", Remote: "[::1]:80"}),
			"unknown: the process at [::1]:80 was not found; it may be another user's"},
		{file(waits.OpenFile{Type: "socket", Remote: "10.0.0.1:80"}), "outside: 10.0.0.1:80"},
		{file(waits.OpenFile{Type: "socket", Remote: "10.0.0.1:80", State: waits.SynSent}),
			"outside: 10.0.0.1:80, not connected yet"},
		{file(waits.OpenFile{Type: "timerfd"}), "timer:"},
		{file(waits.OpenFile{Type: "socket"}), "unknown: the other end of the socket is not known"},
		{file(waits.OpenFile{Type: "pipe"}), "unknown: the other end of the pipe is not known"},
		{file(waits.OpenFile{Type: "pipe", State: waits.NoOtherEnd}),
			"unknown: no process was found at the other end of the pipe"},
		{file(waits.OpenFile{Type: "file", Path: "/dev/pts/1"}), "outside: /dev/pts/1"},
		{file(waits.OpenFile{FD: 3, Type: "eventfd", Path: "anon_inode:[eventfd]"}),
			"unknown: waits for anon_inode:[eventfd] (fd 3)"},
	} {
		n := NextOf(c.wait)
		got := string(n.End.Kind) + ":"
		switch {
		case n.Thread != 0:
			got = fmt.Sprint("thread ", n.Thread)
		case n.Processes != nil:
			got = fmt.Sprint("processes ", n.Processes)
		case n.End.Why != "":
			got += " " + n.End.Why
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.wait, got, c.want)
		}
	}
}
