// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/printable"
	"prywalk/internal/waits"
)

// # What goroutines wait for
//
// A sync.Mutex stores no owner. A likely one is a goroutine with a function on its stack that has locked and not
// unlocked it before its current call ([managed.Scheduler]). Another goroutine may have unlocked it, so a cycle is only
// a possible deadlock. Of a channel only the waiting senders and receivers are known.

// GoroutineLock is what goroutines wait for.
type GoroutineLock struct {
	PID int `json:"pid"`
	// Runtime is the file with the goroutines' run-time system, where the process has several.
	Runtime string `json:"runtime,omitempty"`
	Kind    string `json:"kind"` // sync.Mutex, sync.RWMutex, sync.WaitGroup, sync.Cond, semaphore, chan
	Address Hex    `json:"address"`
	Symbol  string `json:"symbol,omitempty"`
	// Queued and Capacity are how many values are in a channel, and fit.
	Queued   uint64            `json:"queued,omitempty"`
	Capacity uint64            `json:"capacity,omitempty"`
	Closed   bool              `json:"closed,omitempty"`
	Waiters  []GoroutineWaiter `json:"waiters"`
	Likely   []GoroutineOwner  `json:"likely_owners,omitempty"`
}

// GoroutineWaiter is a goroutine that waits.
type GoroutineWaiter struct {
	Goroutine uint64 `json:"goroutine"`
	Wait      string `json:"wait,omitempty"` // in the words of Go's run-time system
	// Send: it waits to send to the channel, not to receive. Reads: it waits for the right to read.
	Send  bool   `json:"send,omitempty"`
	Reads bool   `json:"reads,omitempty"`
	In    string `json:"in,omitempty"` // the program's function that waits, with its line
}

// GoroutineOwner is a goroutine that likely holds a lock.
type GoroutineOwner struct {
	Goroutine uint64 `json:"goroutine"`
	Reads     bool   `json:"reads,omitempty"`
	Evidence  string `json:"evidence"`
}

// GoroutineCycle are goroutines of a process of which each waits for a lock that the next one likely holds.
type GoroutineCycle struct {
	PID int `json:"pid"`
	// Runtime is the file with their run-time system, where the process has several.
	Runtime    string   `json:"runtime,omitempty"`
	Goroutines []uint64 `json:"goroutines"`
}

type goroutineWait struct {
	managed.TaskWait
	kind   string
	symbol string
	reads  bool
}

type goroutineHeld struct {
	managed.TaskHeld
	frame int
	taken string // where
}

const (
	kindMutex     = "sync.Mutex"
	kindRWMutex   = "sync.RWMutex"
	kindWaitGroup = "sync.WaitGroup"
	kindCond      = "sync.Cond"
	kindSemaphore = "semaphore"
	kindChannel   = "chan"
)

// Offsets in package sync of the waited-for words: Mutex.sema, RWMutex.writerSem and readerSem, Cond.notify.
const (
	mutexSema  = 4
	writerSema = 8
	readerSema = 12
	condNotify = 16
)

const mostSyncFrames = 12

// locksOf finds what a goroutine waits for and holds. stack is a copy; nil on a thread.
func (r *goroutineReader) locksOf(t *managed.ParkedTask, g *Goroutine, stack []byte, asleep bool) {
	of := r.of
	if of == nil || !r.locks {
		return
	}
	if stack != nil {
		for _, w := range of.WaitsAt(t, stack) {
			g.waitsAt = append(g.waitsAt, r.nameWait(g, w))
		}
	}
	for i := range g.Frames[:min(len(g.Frames), mostAsked)] {
		f := &g.Frames[i]
		if f.Inlined || f.PC == 0 || i == 0 {
			continue
		}
		sp := frames.Addr(f.SP)
		if stack == nil && !asleep {
			sp = 0 // the stack changes
		}
		for _, h := range of.Held(frames.Addr(f.PC), sp) {
			g.held = append(g.held, goroutineHeld{TaskHeld: h, frame: i, taken: r.placeOf(h.Taken, f)})
		}
	}
	g.dropAwaited()
}

func (r *goroutineReader) placeOf(at frames.Addr, in *Frame) string {
	m := r.space.Find(at)
	if m == nil {
		return in.location()
	}
	f := frames.Frame{PC: at + 1, Module: m, Caller: true}
	list := r.walk.nativePlaces(&f)
	place := Frame{Place: list[len(list)-1]}
	for _, p := range list { // Lock itself
		if !strings.HasPrefix(p.Function, "sync.") && !strings.HasPrefix(p.Function, "internal/") &&
			!strings.HasPrefix(p.Function, "sync/atomic.") {
			place = Frame{Place: p}
			break
		}
	}
	return place.location()
}

// nameWait sets kind and address of the waited-for object.
func (r *goroutineReader) nameWait(g *Goroutine, w managed.TaskWait) goroutineWait {
	out := goroutineWait{TaskWait: w, kind: kindChannel}
	if !w.Channel {
		out.kind = kindSemaphore
		inner := false
		for i := range g.Frames[:min(len(g.Frames), mostSyncFrames)] {
			switch g.Frames[i].Function {
			case "sync.(*Mutex).Lock", "internal/sync.(*Mutex).Lock", "sync.(*Mutex).lockSlow",
				"internal/sync.(*Mutex).lockSlow":
				if !inner {
					out.kind, out.Address, inner = kindMutex, w.Address-mutexSema, true
				}
			case "sync.(*RWMutex).Lock":
				if out.kind = kindRWMutex; !inner {
					out.Address = w.Address - writerSema
				}
			case "sync.(*RWMutex).RLock":
				out.kind, out.Address, out.reads = kindRWMutex, w.Address-readerSema, true
			case "sync.(*WaitGroup).Wait":
				out.kind = kindWaitGroup
			case "sync.(*Cond).Wait":
				out.kind, out.Address = kindCond, w.Address-condNotify
			}
		}
	}
	if img, at := code.ImageAt(r.space, out.Address); img != nil {
		if name, offset, ok := r.walk.names.Object(img, r.walk.pid, at); ok {
			out.symbol = name
			if offset != 0 {
				out.symbol += fmt.Sprintf("+%#x", offset)
			}
		}
	}
	return out
}

// dropAwaited removes the awaited lock from the held ones: its code has begun to take it.
func (g *Goroutine) dropAwaited() {
	for i := range g.waitsAt {
		inner := -1
		for j := range g.held {
			if h := &g.held[j]; h.Address == g.waitsAt[i].Address && (inner < 0 || h.frame <= g.held[inner].frame) {
				if inner < 0 || h.frame < g.held[inner].frame || h.Taken > g.held[inner].Taken {
					inner = j
				}
			}
		}
		if inner >= 0 {
			g.held = slices.Delete(g.held, inner, inner+1)
		}
	}
}

func (g *Goroutine) place() string {
	return (&Thread{Frames: g.Frames}).place()
}

type goLockKey struct {
	pid     int
	address frames.Addr
}

// goroutineLocks sorts locks, then channels, by descending number of waiters.
func (l *Locks) goroutineLocks() {
	at := map[goLockKey]int{}
	for _, p := range l.Processes {
		for i := range p.GoroutineStacks {
			g := &p.GoroutineStacks[i]
			if g.System {
				continue
			}
			for _, w := range g.waitsAt {
				k := goLockKey{p.PID, w.Address}
				n, ok := at[k]
				if !ok {
					n = len(l.GoroutineLocks)
					at[k] = n
					l.GoroutineLocks = append(l.GoroutineLocks, GoroutineLock{PID: p.PID, Runtime: g.Runtime, Kind: w.kind,
						Address: Hex(w.Address), Symbol: w.symbol, Queued: w.Queued, Capacity: w.Room, Closed: w.Closed})
				}
				m := &l.GoroutineLocks[n]
				if w.kind == kindRWMutex {
					m.Kind = w.kind
				}
				m.Waiters = append(m.Waiters, GoroutineWaiter{Goroutine: g.ID, Wait: g.Wait, Send: w.Send, Reads: w.reads,
					In: g.place()})
			}
		}
		l.goroutineOwners(p, at)
	}
	slices.SortStableFunc(l.GoroutineLocks, func(a, b GoroutineLock) int {
		channel := func(m *GoroutineLock) int { return map[bool]int{true: 1}[m.Kind == kindChannel] }
		return cmp.Or(channel(&a)-channel(&b), len(b.Waiters)-len(a.Waiters), cmp.Compare(a.Address, b.Address))
	})
}

func (l *Locks) goroutineOwners(p *Process, at map[goLockKey]int) {
	for i := range p.GoroutineStacks {
		g := &p.GoroutineStacks[i]
		for _, h := range g.held {
			n, ok := at[goLockKey{p.PID, h.Address}]
			if !ok {
				continue
			}
			m := &l.GoroutineLocks[n]
			if !m.isLock() {
				continue
			}
			if h.Read {
				m.Kind = kindRWMutex
			}
			m.Likely = append(m.Likely, GoroutineOwner{Goroutine: g.ID, Reads: h.Read,
				Evidence: "locked at " + h.taken + ", and not unlocked before the call that its stack is in"})
		}
	}
}

// goroutineCycles gives the cycles through likely owners.
func (l *Locks) goroutineCycles() (out []GoroutineCycle) {
	type system struct {
		pid  int
		file string
	}
	graphs := map[system]map[int]int{}
	var order []system
	for i := range l.GoroutineLocks {
		m := &l.GoroutineLocks[i]
		if len(m.Likely) != 1 {
			continue
		}
		of := system{m.PID, m.Runtime}
		if graphs[of] == nil {
			graphs[of], order = map[int]int{}, append(order, of)
		}
		for _, w := range m.Waiters {
			if !(w.Reads && m.Likely[0].Reads) {
				graphs[of][int(w.Goroutine)] = int(m.Likely[0].Goroutine)
			}
		}
	}
	for _, of := range order {
		for _, c := range waits.Cycles(graphs[of]) {
			cycle := GoroutineCycle{PID: of.pid, Runtime: of.file}
			for _, id := range c {
				cycle.Goroutines = append(cycle.Goroutines, uint64(id))
			}
			out = append(out, cycle)
		}
	}
	return out
}

// possibleGoroutines keeps cycles of goroutines that do not run.
func (l *lockExam) possibleGoroutines() {
	cycles := l.out.goroutineCycles()
	if len(cycles) == 0 {
		return
	}
	time.Sleep(watchFor)
	for _, c := range cycles {
		k := l.process[c.PID]
		if k == nil {
			continue
		}
		if !slices.ContainsFunc(c.Goroutines, func(id uint64) bool {
			g := k.process.goroutine(c.Runtime, id)
			return g == nil || g.task == nil || !g.of.Again(g.task)
		}) {
			l.out.PossibleGoroutines = append(l.out.PossibleGoroutines, c)
		}
	}
}

func (p *Process) goroutine(runtime string, id uint64) *Goroutine {
	for i := range p.GoroutineStacks {
		if g := &p.GoroutineStacks[i]; g.ID == id && g.Runtime == runtime {
			return &p.GoroutineStacks[i]
		}
	}
	return nil
}

func (l *Locks) goroutineLocksText(b *strings.Builder) {
	for i := range l.PossibleGoroutines {
		l.goroutineCycleText(b, &l.PossibleGoroutines[i])
	}
	for _, p := range l.Processes {
		if n := p.leaked(); n > 0 {
			printable.Fprintf(b, "\n%s of process %d %s leaked: Go's garbage collector has found that nothing can wake %s\n",
				count(n, "goroutine"), p.PID, map[bool]string{true: "is", false: "are"}[n == 1],
				map[bool]string{true: "it", false: "them"}[n == 1])
		}
	}
	for i := range l.GoroutineLocks {
		m := &l.GoroutineLocks[i]
		printable.Fprintf(b, "\n%s%s%s\n", m.label(), m.details(), withSeparator(", of ", m.Runtime))
		if m.Kind == kindChannel {
			m.sideText(b, true, "to send")
			m.sideText(b, false, "to receive")
		} else {
			m.sideText(b, false, "")
		}
		for j := range m.Likely {
			l.likelyGoroutine(b, m, &m.Likely[j])
		}
		if len(m.Likely) == 0 && m.isLock() {
			printable.Fprintf(b, "  owner not known: no stack shows which goroutine holds it\n")
		}
	}
}

// likelyGoroutine writes what a likely owner does, and its stack if it is the only one and in no cycle.
func (l *Locks) likelyGoroutine(b *strings.Builder, m *GoroutineLock, o *GoroutineOwner) {
	reads := map[bool]string{true: " for reading"}[o.Reads]
	var g *Goroutine
	for _, p := range l.Processes {
		if p.PID == m.PID {
			g = p.goroutine(m.Runtime, o.Goroutine)
		}
	}
	if g == nil {
		printable.Fprintf(b, "  likely held%s by goroutine %d\n      %s\n", reads, o.Goroutine, o.Evidence)
		return
	}
	printable.Fprintf(b, "  likely held%s by goroutine %d, %s\n      %s\n", reads, o.Goroutine, g.statusText(), o.Evidence)
	in := func(c GoroutineCycle) bool {
		return c.PID == m.PID && c.Runtime == m.Runtime && slices.Contains(c.Goroutines, o.Goroutine)
	}
	if len(m.Likely) == 1 && len(g.Frames) > 0 && !slices.ContainsFunc(l.PossibleGoroutines, in) {
		stack(b, &Thread{Frames: g.Frames, Complete: g.Complete, StopReason: g.StopReason}, false)
	}
}

func (p *Process) leaked() (n int) {
	for i := range p.GoroutineStacks {
		if p.GoroutineStacks[i].Status == "leaked" {
			n++
		}
	}
	return n
}

func (l *Locks) goroutineCycleText(b *strings.Builder, c *GoroutineCycle) {
	what := count(len(c.Goroutines), "goroutine") + " wait for each other"
	if len(c.Goroutines) == 1 {
		what = "a goroutine waits for a lock that it probably holds itself"
	}
	what += withSeparator(" in ", c.Runtime)
	printable.Fprintf(b, "\nPOSSIBLE DEADLOCK: %s, if the inferred owners are right\n", what)
	for i, id := range c.Goroutines {
		next := c.Goroutines[(i+1)%len(c.Goroutines)]
		for j := range l.GoroutineLocks {
			m := &l.GoroutineLocks[j]
			w := slices.IndexFunc(m.Waiters, func(w GoroutineWaiter) bool { return w.Goroutine == id })
			if m.PID == c.PID && m.Runtime == c.Runtime && w >= 0 && len(m.Likely) == 1 && m.Likely[0].Goroutine == next {
				printable.Fprintf(b, "  goroutine %d\n      waits for %s%s\n      likely held by goroutine %d: %s\n", id,
					m.label(), withSeparator(", in ", m.Waiters[w].In), next, m.Likely[0].Evidence)
			}
		}
	}
}

func (m *GoroutineLock) label() string {
	if m.Symbol != "" {
		return fmt.Sprintf("%s %s (%#x)", m.Kind, m.Symbol, uint64(m.Address))
	}
	return fmt.Sprintf("%s %#x", m.Kind, uint64(m.Address))
}

func (m *GoroutineLock) details() string {
	if m.Kind != kindChannel {
		return ""
	}
	text := ", unbuffered"
	if m.Capacity > 0 {
		text = fmt.Sprintf(", %d of %d in it", m.Queued, m.Capacity)
	}
	if m.Closed {
		text += ", closed"
	}
	return text
}

func (m *GoroutineLock) sideText(b *strings.Builder, send bool, what string) {
	var ids []string
	at := map[string]int{}
	var places []string
	for _, w := range m.Waiters {
		if w.Send != send {
			continue
		}
		ids = append(ids, fmt.Sprint(w.Goroutine))
		if w.In == "" {
			continue
		}
		if at[w.In] == 0 {
			places = append(places, w.In)
		}
		at[w.In]++
	}
	if len(ids) == 0 {
		if what != "" {
			printable.Fprintf(b, "  waiting %s: none\n", what)
		}
		return
	}
	printable.Fprintf(b, "  waiting%s: %s %s\n", withSeparator(" ", what),
		map[bool]string{true: "goroutine", false: "goroutines"}[len(ids) == 1], enumerate(ids))
	slices.SortStableFunc(places, func(a, b string) int { return at[b] - at[a] })
	for _, place := range places[:min(len(places), mostPlaces)] {
		printable.Fprintf(b, "      in %s (%s)\n", place, count(at[place], "goroutine"))
	}
	if n := len(places) - mostPlaces; n > 0 {
		printable.Fprintf(b, "      and at %s\n", count(n, "more place"))
	}
}

// isLock reports whether goroutines hold it: it is no channel, condition or wait group.
func (m *GoroutineLock) isLock() bool { return m.Kind == kindMutex || m.Kind == kindRWMutex }
