// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// transfers are the verbs, of one and of several waiters, of calls that wait for a child or the other end of a socket
// or pipe, or to look up a path, or sleep.
var transfers = map[string][2]string{
	"read": {"reads from", "read from"}, "write": {"writes to", "write to"}, "connect": {"connects to", "connect to"},
	"poll": {"waits for", "wait for"}, "response": {"waits for a response of", "wait for a response of"},
	"path": {"waits in", "wait in"}, "child": {"waits for", "wait for"}, "sleep": {"sleeps in", "sleep in"},
}

func transferOf(call string) (verbs [2]string, ok bool) {
	switch call {
	case "readv", "recvfrom", "recvmsg", "recvmmsg":
		call = "read"
	case "writev", "sendto", "sendmsg", "sendmmsg", "sendfile":
		call = "write"
	case "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2":
		call = "poll"
	case "wait4", "waitid":
		call = "child"
	}
	verbs, ok = transfers[call]
	return verbs, ok
}

// transfer is such a wait of threads or goroutines.
type transfer struct {
	noun, peer string // or the function that sleeps
	verbs      [2]string
}

// writePeers writes what waits for the other end of a socket or pipe, or for a child, or sleeps: "1 thread reads from
// 127.0.0.1:3700 = proxy (pid 8833): 71 worker".
func writePeers(b *strings.Builder, l *locks.Locks) {
	var order []transfer
	names, places := map[transfer][]string{}, map[transfer][]string{}
	add := func(noun, call, peer string, describe func() (name, place string)) {
		verbs, ok := transferOf(call)
		if !ok || peer == "" {
			return
		}
		t := transfer{noun, peer, verbs}
		if names[t] == nil {
			order = append(order, t)
		}
		name, place := describe()
		names[t], places[t] = append(names[t], name), append(places[t], place)
	}
	for _, p := range l.Processes {
		for t := range stacks.Each(p.Threads) {
			call, peer, place := t.Wait, cmp.Or(otherEnd(t.WaitsFor), awaitedChild(p, t)), t.OwnPlace()
			switch {
			case peer != "":
			case t.WaitsFor != nil && t.WaitsFor.Path != "":
				call, peer = "path", t.Wait+" of "+t.WaitsFor.Path
			default:
				peer, place = sleepsIn(t)
				call = "sleep"
			}
			add("thread", call, peer, func() (string, string) { return shownThreadName(l, t.TID), place })
		}
		responding := httpPeers(p)
		for g := range stacks.Each(p.GoroutineStacks) {
			call, peer := transferOfGoroutine(g), otherEnd(g.WaitsFor)
			if call == "response" {
				peer = responding
			}
			add("goroutine", call, peer, func() (string, string) { return fmt.Sprint(g.ID), g.OwnPlace() })
		}
	}
	for _, t := range order {
		n := len(names[t])
		printable.Fprintf(b, "\n%s %s %s: %s\n", count(n, t.noun), tabular.Form(n, t.verbs[0], t.verbs[1]), t.peer,
			printable.Raw(enumerate(names[t])))
		writeFrequent(b, places[t], tabular.Form(n, "", t.noun))
	}
}

func transferOfGoroutine(g *stacks.Goroutine) string {
	switch {
	case g.Calls(waits.HTTPRequest):
		return "response"
	case g.Calls("net.(*netFD).connect"):
		return "connect"
	case g.Calls("internal/poll.(*pollDesc).waitWrite"):
		return "write"
	}
	return "read"
}

// httpPeers names the other ends of HTTP's connections. Which of several has a request is not known, unless each has.
func httpPeers(p *stacks.Process) string {
	var ends []string
	responding, free := p.Responding()
	for _, w := range responding {
		ends = append(ends, w.FD.OtherEnd())
	}
	slices.Sort(ends)
	if ends = slices.Compact(ends); free > 0 && len(ends) > 1 {
		return "one of " + enumerate(ends)
	}
	return enumerate(ends)
}

// awaitedChild names the only child process for which a thread waits, with the command that follows the wait, or is "".
func awaitedChild(p *stacks.Process, t *stacks.Thread) string {
	w := t.WaitsFor
	if w == nil || w.Idle != "" || w.Child == 0 {
		return ""
	}
	return fmt.Sprintf("%s (what that waits for: prywalk dump --chains -p %d,%d)", w.Object(), p.PID, w.Child)
}

// sleepsIn names the function that sleeps within work, and the program's place that called it, or is "".
func sleepsIn(t *stacks.Thread) (function, place string) {
	if w := t.WaitsFor; w == nil || w.Kind != waits.Sleep || w.Idle != "" || len(t.Frames) == 0 {
		return "", ""
	}
	frames := t.WaitsFrames()
	function = frames[waits.WaitingFunction(frames)].Function
	if place = cmp.Or(scriptPlace(t), t.OwnPlace()); place == function {
		place = ""
	}
	return function, place
}

// scriptPlace returns the program's innermost place in a language, or "" if it has none.
func scriptPlace(t *stacks.Thread) string {
	for i, f := range t.WaitsFrames() {
		if t.Frames[i].Kind != "" && !waits.IsLibrary(f) && !languages.IsInstalled(f.Function, f.Module, f.File) {
			return t.Frames[i].Location()
		}
	}
	return ""
}

// otherEnd names that of the only socket or pipe for which a wait is, within work, or "".
func otherEnd(w *waits.Wait) string {
	if w == nil || w.Idle != "" {
		return ""
	}
	f := w.OnlyFile()
	if f == nil || f.Type != "socket" && f.Type != "pipe" || f.State == "LISTEN" {
		return ""
	}
	return f.OtherEnd()
}
