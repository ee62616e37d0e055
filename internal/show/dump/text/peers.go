// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// transfers are the verbs of calls that wait for the other end of a socket or pipe: of one and of several threads.
var transfers = map[string][2]string{
	"read": {"reads from", "read from"}, "write": {"writes to", "write to"}, "connect": {"connects to", "connect to"},
	"poll": {"waits for", "wait for"},
}

func transferOf(call string) (verbs [2]string, ok bool) {
	switch call {
	case "readv", "recvfrom", "recvmsg", "recvmmsg":
		call = "read"
	case "writev", "sendto", "sendmsg", "sendmmsg", "sendfile":
		call = "write"
	case "ppoll", "select", "pselect6":
		call = "poll"
	}
	verbs, ok = transfers[call]
	return verbs, ok
}

// writePeers writes which threads wait for the other end of a socket or pipe: "1 thread reads from 127.0.0.1:3700 =
// proxy (pid 8833): 71 worker".
func writePeers(b *strings.Builder, l *locks.Locks) {
	type key struct {
		verbs [2]string
		peer  string
	}
	tids := map[key][]int{}
	var order []key
	for _, p := range l.Processes {
		for i := range p.Threads {
			t := &p.Threads[i]
			verbs, ok := transferOf(t.Wait)
			file := onlyFile(t)
			if !ok || file == nil || file.Type != "socket" && file.Type != "pipe" || file.State == "LISTEN" {
				continue
			}
			k := key{verbs, file.OtherEnd()}
			if tids[k] == nil {
				order = append(order, k)
			}
			tids[k] = append(tids[k], t.TID)
		}
	}
	for _, k := range order {
		n := len(tids[k])
		printable.Fprintf(b, "\n%s %s %s: %s\n", count(n, "thread"), pluralForm(n, k.verbs[0], k.verbs[1]), k.peer,
			printable.Raw(shownThreadNames(l, tids[k])))
		writePlaces(b, l, tids[k])
	}
}

// onlyFile returns the descriptor for which a thread waits, within work; nil: none, or several.
func onlyFile(t *stacks.Thread) *waits.OpenFile {
	w := t.WaitsFor
	switch {
	case w == nil || w.Idle != "":
		return nil
	case w.FD == nil && len(w.FDs) == 1:
		return &w.FDs[0]
	}
	return w.FD
}
