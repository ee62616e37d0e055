// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/conclusion"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// otherEnd names the other end of a socket or pipe with the processes that any sample of the recording has seen there,
// as one address can have many: "127.0.0.1:3700 = proxy (pid 8833)", or returns "".
func (w *Waiting) otherEnd(l *waits.ParsedLabel) string {
	if w.processes == nil {
		w.processes = processesAtEnds(w.samples)
	}
	switch processes := w.processes[endOf(l)]; {
	case l.Kind == waits.Child:
		return string(waits.Child) + " " + processes
	case processes == "":
		return l.Peer + waits.Unfinished(l.State)
	case l.Peer == "":
		return l.File + " of " + processes
	default:
		return l.Peer + " = " + processes + waits.Unfinished(l.State)
	}
}

// endOf is equal for all descriptors that lead to one address, or, without one, to processes of equal names.
func endOf(l *waits.ParsedLabel) string {
	if l.Peer != "" || l.Processes == "" {
		return l.Peer
	}
	file := cmp.Or(l.File, string(l.Kind))
	var names []string
	for _, p := range l.Peers() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return file + " of " + strings.Join(slices.Compact(names), ", ")
}

func processesAtEnds(samples []*profile.Sample) map[string]string {
	type seen struct {
		what string
		by   int64
	}
	known, pids := map[seen]bool{}, map[string]map[waits.Peer]bool{}
	for _, s := range samples {
		what, by := Label(s, rec.LabelWaitsFor), NumLabel(s, rec.LabelPID)
		if known[seen{what, by}] || !strings.Contains(what, " (pid ") {
			continue
		}
		known[seen{what, by}] = true
		l := waits.ParseLabel(what)
		end := endOf(&l)
		if pids[end] == nil {
			pids[end] = map[waits.Peer]bool{}
		}
		isOther := func(p waits.Peer) bool { return int64(p.PID) != by }
		shared := l.Peer == "" && slices.ContainsFunc(l.Peers(), isOther)
		for _, p := range l.Peers() {
			if shared && !isOther(p) {
				p = itself
			}
			pids[end][p] = true
		}
	}
	out := map[string]string{}
	for end, list := range pids {
		out[end] = processNames(list)
	}
	return out
}

const maxProcessNames = 2

// itself is the process that waits, which has both ends of a pipe, as its children have.
var itself = waits.Peer{Name: "itself"}

// processNames has each name once: "nginx (pid 9), postgres (12 processes) or itself".
func processNames(list map[waits.Peer]bool) string {
	if list[itself] {
		delete(list, itself)
		return processNames(list) + " or itself"
	}
	byName := map[string][]int{}
	for p := range list {
		byName[p.Name] = append(byName[p.Name], p.PID)
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		text := fmt.Sprintf("%s (pid %d)", name, byName[name][0])
		if n := len(byName[name]); n > 1 {
			text = fmt.Sprintf("%s (%d processes)", name, n)
		}
		texts = append(texts, text)
	}
	if more := len(texts) - maxProcessNames; more > 0 {
		texts = append(texts[:maxProcessNames], tabular.Plural(int64(more), "other"))
	}
	return strings.Join(texts, ", ")
}

const maxResponding = 3

// response names the server for whose response a goroutine of net/http waits, whose connection another goroutine reads:
// the only one that all connections of the process lead to, or one of a few, or the pool of a database. It returns ""
// if that is not known.
func (w *Waiting) response(s *profile.Sample) string {
	if w.isGoroutineIn(s, "select", waits.DatabasePool) {
		inner := func(f waits.Frame) bool { return !strings.HasPrefix(f.Function, "runtime.") }
		stack := waitStack(s, wholeStack) // (*DB).conn also connects
		if i := slices.IndexFunc(stack, inner); i >= 0 && stack[i].Function == waits.DatabasePool {
			return freeConnection
		}
	}
	if !w.isGoroutineIn(s, "select", waits.HTTPRequest) {
		return ""
	}
	if w.responding == nil {
		w.responding = map[int64]map[string]bool{}
		for _, s := range w.samples {
			if pid := NumLabel(s, rec.LabelPID); w.isGoroutineIn(s, "IO wait", waits.HTTPReader) {
				if w.responding[pid] == nil {
					w.responding[pid] = map[string]bool{}
				}
				l := waits.ParseLabel(Label(s, rec.LabelWaitsFor))
				l.State = "" // of one connection, not of the server
				w.responding[pid][w.otherEnd(&l)] = true
			}
		}
	}
	ends := slices.Sorted(maps.Keys(w.responding[NumLabel(s, rec.LabelPID)]))
	switch {
	case len(ends) == 0, len(ends) > maxResponding, ends[0] == "": // a connection is not known
		return ""
	case len(ends) == 1:
		return conclusion.AResponse + ends[0]
	}
	return conclusion.AResponse + "one of " + strings.Join(ends, ", ")
}

func (w *Waiting) isGoroutineIn(s *profile.Sample, wait, function string) bool {
	return Label(s, rec.LabelTask) == languages.GoroutineTask && Label(s, rec.LabelWait) == wait &&
		slices.ContainsFunc(waitStack(s, wholeStack), func(f waits.Frame) bool { return f.Function == function })
}
