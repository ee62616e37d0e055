// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// waitGroup is what threads, or goroutines, wait for within work.
type waitGroup struct {
	noun, wait string
	owner      string // ", held by thread 4711 journal", or ""
	lock       bool
}

// waitGroups counts a process's threads and goroutines by what they do.
type waitGroups struct {
	waits                  map[waitGroup]int
	places                 map[waitGroup]map[string]int // by the functions that wait
	running, idle, stopped int

	process  *stacks.Process
	examined map[string]examined // by stack: many goroutines have one
	peers    *string             // of HTTP's connections; nil unless they were looked up
}

// examined is what a stack says of a wait.
type examined struct {
	own    string // the program's function
	idle   bool   // of a goroutine
	awaits bool   // a response of HTTP, in Go
}

// asleep is the group of what sleeps for a time, guessed that of what is idle by names only.
var asleep, guessed = waitGroup{}, waitGroup{wait: "idle?"}

// maxGroups bounds the waits that the summary names.
const maxGroups = 2

// summary says what most threads and goroutines do: "waiting within work: 8 threads for mutex cache_mu in pay, held by
// thread 4711 journal; running: 1; idle: 12". It is "" for a single thread, which its stack shows, and where nothing is
// known.
func summary(p *stacks.Process) string {
	if len(p.Threads)+len(p.GoroutineStacks) < 2 {
		return ""
	}
	g := waitGroups{
		waits: map[waitGroup]int{}, places: map[waitGroup]map[string]int{}, process: p, examined: map[string]examined{},
	}
	for t := range stacks.Each(p.Threads) {
		if !onlySchedules(t) || len(p.GoroutineStacks) == 0 {
			g.addThread(t)
		}
	}
	for r := range stacks.Each(p.GoroutineStacks) {
		if r.Thread == 0 && !r.System {
			g.addGoroutine(r)
		}
	}
	return g.String(p.PID)
}

func writeSummary(b *strings.Builder, p *stacks.Process) {
	if text := summary(p); text != "" {
		printable.Fprintf(b, "%s\n", text)
	}
}

// examine examines the inner frames of a stack; wait is a goroutine's.
func (g *waitGroups) examine(t *stacks.Thread, wait string) examined {
	inner := *t
	inner.Frames = t.Frames[:min(len(t.Frames), stacks.MaxExamined)]
	key := wait + "\x00" + threadKey(&inner)
	e, known := g.examined[key]
	if !known {
		frames := inner.WaitsFrames()
		e.own = inner.OwnFunction()
		e.idle = waits.Idle(wait, waits.NoWait, frames).Idle != ""
		e.awaits = slices.ContainsFunc(frames, func(f waits.Frame) bool { return f.Function == waits.HTTPRequest })
		g.examined[key] = e
	}
	return e
}

func (g *waitGroups) addThread(t *stacks.Thread) {
	add := func(key waitGroup) { g.add(key, g.examine(t, "").own) }
	w := t.WaitsFor
	switch {
	case t.State == "R":
		g.running++
	case t.State == "T":
		g.stopped++
	case w == nil && t.Wait != "":
		add(waitGroup{noun: "thread", wait: "in " + t.Wait})
	case w == nil:
	case w.Idle != "":
		g.idle++
	case w.IdleGuess != "":
		add(guessed)
	case w.Kind == waits.Sleep:
		add(asleep)
	case w.Kind.IsSynchronization():
		add(waitGroup{"thread", "for " + objectOrKind(w), w.OwnerText(), w.IsLock()})
	default:
		what := "in " + t.Wait
		if object := cmp.Or(otherEnd(w), objectOrKind(w)); object != t.Wait {
			what += " (" + object + ")"
		}
		add(waitGroup{noun: "thread", wait: what})
	}
}

// objectOrKind leaves out what differs among like waiters: descriptors of a file, addresses of what has no owner.
func objectOrKind(w *waits.Wait) string {
	if f := w.OnlyFile(); f != nil && f.Type == "file" {
		return f.Path
	}
	plain := *w
	if !w.IsLock() && w.Owner == 0 {
		plain.Address = 0
	}
	return plain.Object()
}

func (g *waitGroups) addGoroutine(r *stacks.Goroutine) {
	if r.Status != "waiting" && r.Status != stacks.Leaked {
		g.running++
		return
	}
	switch e := g.examine(r.Stack(), r.Wait); {
	case e.idle:
		g.idle++
	case r.Wait == string(waits.Sleep):
		g.add(asleep, e.own)
	case e.awaits:
		g.add(waitGroup{noun: "goroutine", wait: g.response()}, e.own)
	default:
		what := "in " + cmp.Or(r.Wait, "a wait that is not known")
		if object := otherEnd(r.WaitsFor); object != "" {
			what += " (" + object + ")"
		}
		g.add(waitGroup{noun: "goroutine", wait: what, lock: strings.HasPrefix(r.Wait, "sync.")}, e.own)
	}
}

func (g *waitGroups) response() string {
	if g.peers == nil {
		peers := httpPeers(g.process)
		g.peers = &peers
	}
	return "for a response" + withSeparator(" of ", *g.peers)
}

func (g *waitGroups) add(key waitGroup, place string) {
	if g.waits[key]++; g.places[key] == nil {
		g.places[key] = map[string]int{}
	}
	g.places[key][place]++
}

// String names the largest waits, each with the function in which most of its threads wait.
func (g *waitGroups) String(pid int) string {
	order := slices.SortedFunc(maps.Keys(g.waits), func(a, b waitGroup) int {
		return cmp.Or(g.waits[b]-g.waits[a], strings.Compare(a.noun+a.wait+a.owner, b.noun+b.wait+b.owner))
	})
	order = slices.DeleteFunc(order, func(key waitGroup) bool { return key == asleep || key == guessed })
	var named, all reasons
	others, lock := 0, false
	for i, key := range order {
		n := g.waits[key]
		if i >= maxGroups {
			others += n
			continue
		}
		lock = lock || key.lock && key.owner == ""
		named.add(n, count(n, key.noun)+" "+key.wait+g.mostly(key)+key.owner)
	}
	named.add(others, fmt.Sprintf("%d in other waits", others))
	all.add(len(named), "waiting within work: "+strings.Join(named, ", "))
	all.add(g.running, fmt.Sprintf("running: %d", g.running))
	all.add(g.waits[asleep], fmt.Sprintf("asleep for a time: %d%s", g.waits[asleep], g.mostly(asleep)))
	all.add(g.waits[guessed], fmt.Sprintf("idle? (only names say so): %d%s", g.waits[guessed], g.mostly(guessed)))
	all.add(g.idle, fmt.Sprintf("idle: %d", g.idle))
	all.add(g.stopped, fmt.Sprintf("stopped by a signal or a debugger: %d", g.stopped))
	if lock && pid != 0 {
		all.add(1, fmt.Sprintf("prywalk dump --locks -p %d looks for the owner", pid))
	}
	return strings.Join(all, "; ")
}

// mostly names the function in which more than half of a group wait, or its only two.
func (g *waitGroups) mostly(key waitGroup) string {
	places := slices.SortedFunc(maps.Keys(g.places[key]), func(a, b string) int {
		return cmp.Or(g.places[key][b]-g.places[key][a], strings.Compare(a, b))
	})
	switch {
	case len(places) == 0 || places[0] == "" || "in "+places[0] == key.wait:
		return ""
	case len(places) == 1:
		return " in " + places[0]
	case len(places) == 2 && places[1] != "":
		return " in " + places[0] + " and " + places[1]
	case 2*g.places[key][places[0]] > g.waits[key]:
		return ", mostly in " + places[0]
	}
	return ""
}
