// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func byIdleness(l *locks.Locks) (blocked, idle []*locks.Lock) {
	for i := range l.Locks {
		if lock := &l.Locks[i]; len(lock.Blocked()) > 0 {
			blocked = append(blocked, lock)
		} else {
			idle = append(idle, lock)
		}
	}
	return blocked, idle
}

func writeIdle(b *strings.Builder, l *locks.Locks, idle []*locks.Lock) {
	idle = slices.DeleteFunc(idle, func(lock *locks.Lock) bool { return lock.Idle != waits.IdlePool })
	atLock := map[int]bool{}
	for _, lock := range idle {
		for _, tid := range lock.Waiters {
			atLock[tid] = true
		}
	}
	var others []string
	rules := map[string][]int{}
	for _, t := range stacks.ThreadsOf(l.Processes) {
		w := t.WaitsFor
		if w == nil || w.Idle == "" || atLock[t.TID] {
			continue
		}
		if rules[w.Idle] == nil {
			others = append(others, w.Idle)
		}
		rules[w.Idle] = append(rules[w.Idle], t.TID)
	}
	if len(idle) == 0 && len(others) == 0 {
		return
	}
	printable.Fprintf(b, "\nidle, by rule:\n")
	for _, lock := range idle {
		printable.Fprintf(b, "  [idle: %s] %s: %s\n", lock.Idle, lockLabel(lock),
			printable.Raw(shownThreadNames(l, lock.Waiters)))
	}
	slices.Sort(others)
	for _, rule := range others {
		printable.Fprintf(b, "  [idle: %s] %s: %s\n", rule, count(len(rules[rule]), "thread"),
			printable.Raw(shownThreadNames(l, rules[rule])))
	}
}

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
	for _, t := range stacks.ThreadsOf(l.Processes) {
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
