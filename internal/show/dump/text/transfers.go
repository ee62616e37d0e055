// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// transferVerbs are of calls that wait for the other end of a socket or pipe: of one and of several waiters.
var transferVerbs = map[string][2]string{
	"read": {"reads from", "read from"}, "write": {"writes to", "write to"}, "connect": {"connects to", "connect to"},
	"poll": {"waits for", "wait for"},
}

func verbsOf(call string) (verbs [2]string, ok bool) {
	switch call {
	case "readv", "recvfrom", "recvmsg", "recvmmsg":
		call = "read"
	case "writev", "sendto", "sendmsg", "sendmmsg", "sendfile":
		call = "write"
	case "ppoll", "select", "pselect6":
		call = "poll"
	}
	verbs, ok = transferVerbs[call]
	return verbs, ok
}

// transferFunctions are the inner functions of Go's waits for a descriptor, by transferVerbs.
var transferFunctions = map[string]string{
	"internal/poll.(*pollDesc).waitRead": "read", "net.(*netFD).connect": "connect",
	"internal/poll.(*pollDesc).waitWrite": "write",
}

func transferOfGoroutine(g *stacks.Goroutine) string {
	call := "poll"
	for f := range stacks.Each(g.Frames[:min(len(g.Frames), maxTransferFrames)]) {
		call = cmp.Or(transferFunctions[f.Function], call) // connect, which waits for writing, is further out
	}
	return call
}

const maxTransferFrames = 8

// transfer is threads or goroutines that wait for the other end of a socket or pipe.
type transfer struct {
	noun, peer    string
	verbs         [2]string
	names, places []string
}

type transfers []*transfer

func (list *transfers) add(noun string, verbs [2]string, peer, name, place string) {
	i := slices.IndexFunc(*list, func(t *transfer) bool { return t.noun == noun && t.verbs == verbs && t.peer == peer })
	if i < 0 {
		i = len(*list)
		*list = append(*list, &transfer{noun: noun, verbs: verbs, peer: peer})
	}
	t := (*list)[i]
	t.names, t.places = append(t.names, name), append(t.places, place)
}

// writePeers writes what waits for the other end of a socket or pipe: "1 thread reads from 127.0.0.1:3700 = proxy (pid
// 8833): 71 worker".
func writePeers(b *strings.Builder, l *locks.Locks) {
	var list transfers
	for _, t := range stacks.ThreadsOf(l.Processes) {
		verbs, ok := verbsOf(t.Wait)
		if file := onlyFile(t.WaitsFor); ok && hasOtherEnd(file) {
			list.add("thread", verbs, file.OtherEnd(), shownThreadName(l, t.TID), t.OwnPlace())
		}
	}
	for _, p := range l.Processes {
		list.addGoroutines(p)
		list.addResponses(p)
	}
	for _, t := range list {
		n := len(t.names)
		printable.Fprintf(b, "\n%s %s %s: %s\n", count(n, t.noun), pluralForm(n, t.verbs[0], t.verbs[1]), t.peer,
			printable.Raw(enumerate(t.names)))
		noun := t.noun
		if n == 1 {
			noun = ""
		}
		writeFrequent(b, t.places, noun)
	}
}

func (list *transfers) addGoroutines(p *stacks.Process) {
	for g := range stacks.Each(p.GoroutineStacks) {
		if file := onlyFile(g.WaitsFor); hasOtherEnd(file) && !g.Calls(stacks.HTTPReader) {
			list.add("goroutine", transferVerbs[transferOfGoroutine(g)], file.OtherEnd(), fmt.Sprint(g.ID), g.OwnPlace())
		}
	}
}

// addResponses adds the goroutines that wait in net/http for a response. Of several connections it is not known which
// has the request, unless each has one.
func (list *transfers) addResponses(p *stacks.Process) {
	var waiting []*stacks.Goroutine
	var ends []string
	connections := 0
	for g := range stacks.Each(p.GoroutineStacks) {
		switch {
		case g.Calls(stacks.HTTPRequest):
			waiting = append(waiting, g)
		case g.WaitsFor != nil && g.Calls(stacks.HTTPReader):
			connections++
			ends = append(ends, g.WaitsFor.FD.OtherEnd())
		}
	}
	if len(ends) == 0 {
		return
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	peer := enumerate(ends)
	if len(waiting) < connections && len(ends) > 1 {
		peer = "one of " + peer
	}
	for _, g := range waiting {
		list.add("goroutine", [2]string{"waits for a response of", "wait for a response of"}, peer, fmt.Sprint(g.ID),
			g.OwnPlace())
	}
}

// onlyFile returns the descriptor of a wait within work; nil: none, or several.
func onlyFile(w *waits.Wait) *waits.OpenFile {
	switch {
	case w == nil || w.Idle != "":
		return nil
	case w.FD == nil && len(w.FDs) == 1:
		return &w.FDs[0]
	}
	return w.FD
}

func hasOtherEnd(f *waits.OpenFile) bool {
	return f != nil && (f.Type == "socket" || f.Type == "pipe") && f.State != "LISTEN"
}
