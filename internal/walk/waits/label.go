// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"cmp"
	"strings"
)

// ParsedLabel has the parts of a recording's label of what is waited for; absent ones are "". The forms of labels:
//
//	KIND OBJECT                mutex cache_mu; condition 0x55d0c0ffee40; join thread 7; park
//	semaphore OBJECT (TYPE)    semaphore 0x55d0c0ffee40 (threading.Lock)
//	child PROCESS              child convert (pid 9)
//	file-lock FILE             file-lock /run/lock/a
//	FILE                       /srv/a; pipe:[7]; an anonymous inode has its kind: eventpoll
//	socket:[INODE] PEER        socket:[7] 10.0.0.1:80; socket:[7] 10.0.0.1:80, not connected yet
//	pipe:[DEV:INODE] PATH      pipe:[0:23:7] /run/audit: a named pipe
//	… = NUMBER PROCESSES       socket:[7] 127.0.0.1:80 = [8] nginx (pid 9), nginx (pid 10)
//
// NUMBER is [0] if the processes listen, and have not accepted the connection.
type ParsedLabel struct {
	// Kind is of synchronization, or Child.
	Kind   Kind
	Object string
	// Type is as [Wait].Type, of a semaphore.
	Type string
	// File is "file", or the part of a link in /proc/PID/fd before its inode: "socket".
	File string
	// Peer is the other end of a socket, or the path of a named pipe.
	Peer string
	// Processes have the other end of a socket or pipe, or are the child ([ParsedLabel.Peers]).
	Processes string
	// Other is the link of that other end.
	Other string
	// State is NotAccepted (by Processes), SynSent or "".
	State string
}

// ParseLabel parses [Wait.Label] of synchronization, or a file.
func ParseLabel(label string) (l ParsedLabel) {
	kind, object, _ := strings.Cut(label, " ")
	if k := Kind(kind); k.IsSynchronization() {
		l.Kind, l.Object = k, object
		if what, lockType, typed := strings.Cut(object, " ("); typed && k == Semaphore && strings.HasSuffix(lockType, ")") {
			l.Object, l.Type = what, strings.TrimSuffix(lockType, ")")
		}
		return l
	}
	if kind == string(Child) {
		l.Kind, l.Processes = Child, object
		return l
	}
	file, inode, isLink := strings.Cut(label, ":[")
	inode, others, _ := strings.Cut(inode, " = ")
	switch {
	case strings.HasPrefix(label, "/"):
		l.File = "file"
	case isLink:
		l.File = file
	default:
		l.Object = label
	}
	if isLink {
		other, processes, _ := strings.Cut(others, "] ")
		if l.Processes = processes; other == "["+pendingInode {
			l.State = NotAccepted
		} else if other != "" {
			l.Other = file + ":" + other + "]"
		}
	}
	if l.File == "socket" || l.File == "pipe" {
		_, l.Peer, _ = strings.Cut(inode, "] ")
		if address, connects := strings.CutSuffix(l.Peer, notConnected); connects {
			l.Peer, l.State = address, cmp.Or(l.State, SynSent)
		}
	}
	return l
}

// String returns [Wait.Object] of synchronization, else the file's type.
func (l *ParsedLabel) String() string {
	switch {
	case l.File != "":
		return l.File
	case l.Type != "":
		return typedSemaphore(l.Type, string(l.Kind)+" "+l.Object)
	}
	return strings.TrimSpace(string(l.Kind) + " " + l.Object)
}
