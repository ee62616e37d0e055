// SPDX-License-Identifier: Apache-2.0

package top

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"prywalk/internal/namehints"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
)

// Frame is what tables tell apart on a stack.
type Frame struct {
	Name   string
	Module string // base name of the file; empty if synthetic or not known
	// File is the source file, where the rules for idle waits go by it.
	File string
	// Nameless: code that no function is known of. Name says where it is.
	Nameless bool
}

// synthetic reports whether the frame is not code but says something.
func (f *Frame) synthetic() bool { return f.Module == "" && strings.HasPrefix(f.Name, "[") }

// shown is the frame's name in tables.
func (f *Frame) shown() string {
	if f.Nameless && f.Module != "" && !strings.HasPrefix(f.Module, "[") {
		return f.Name + " (unnamed)"
	}
	return f.Name
}

// Stacks gives what the numbers of stacks and locations stand for. A profile.Builder does.
type Stacks interface {
	Stack(id sample.StackID, out []profile.LocID) []profile.LocID
	LocOf(id profile.LocID) profile.Loc
	Told(id profile.DescriptionID) []profile.Frame
}

const (
	// tellEvery is how often new names are shown while there are more to come.
	tellEvery = 200 * time.Millisecond
	// askAgain is how often code without a name that no file has is asked for again: its compiler may have told since.
	askAgain = 3 * time.Second
	// mostAgain is for how many addresses at a time.
	mostAgain = 4096
)

// Names gives functions to stacks. Reading a file's names can take seconds, and is done on a goroutine of its own.
// Its methods may be called by several goroutines.
type Names struct {
	stacks Stacks
	tell   func() // called, on the goroutine of names, when there are new ones

	mu       sync.Mutex
	frames   []Frame
	support  []bool // of each of them: it is of the language or the system
	index    map[Frame]int32
	locs     map[profile.LocID]named
	whole    map[sample.StackID][]int32 // of stacks all of whose names have come
	queue    []profile.LocID
	asked    map[profile.LocID]bool // they are in the queue, or being named
	nameless []profile.LocID        // made at run time, and without names
	again    time.Time              // when these are asked for again
	paths    []string               // of modules that were met
	met      map[string]bool        // the same
	wake     chan struct{}
	buf      []profile.LocID
	modified int64 // how often a name has come
}

// named is what is known of a location.
type named struct {
	frames []int32 // the innermost inlined call first
	final  bool    // its name has come, or there is none
	runs   bool    // it only runs managed frames
}

// NewNames gives names to the stacks of a recording, and calls tell, which must not wait, when there are new ones.
func NewNames(stacks Stacks, tell func()) *Names {
	n := &Names{
		stacks: stacks, tell: tell, index: map[Frame]int32{}, locs: map[profile.LocID]named{},
		whole: map[sample.StackID][]int32{}, asked: map[profile.LocID]bool{}, wake: make(chan struct{}, 1),
		met: map[string]bool{},
	}
	return n
}

// restEvery is how often who gives names is asked to let go of what files that nobody runs any more were read for.
const restEvery = 10 * time.Second

// Run names what is asked for until quit is closed. If r can let go of what it does not need any more (Rest), it does
// so now and then.
func (n *Names) Run(r profile.Resolver, quit <-chan struct{}) {
	rest, ok := r.(interface{ Rest() })
	if !ok {
		rest = noRest{}
	}
	every := time.NewTicker(restEvery)
	defer every.Stop()
	for {
		select {
		case <-quit:
			return
		case <-every.C:
			rest.Rest()
		case <-n.wake:
			for n.some(r, quit) {
				n.tell()
			}
		}
	}
}

// noRest is for who has nothing to let go of.
type noRest struct{}

// Rest does nothing.
func (noRest) Rest() {}

// Waiting is how many addresses have no name yet.
func (n *Names) Waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked)
}

// Now names all that is asked for, before it returns.
func (n *Names) Now(r profile.Resolver) {
	quit := make(chan struct{})
	for n.some(r, quit) {
	}
}

// some names addresses for a while. False if there were none.
func (n *Names) some(r profile.Resolver, quit <-chan struct{}) bool {
	n.mu.Lock()
	list := n.queue
	n.queue = nil
	n.mu.Unlock()
	if len(list) == 0 {
		return false
	}
	began := time.Now()
	for i, id := range list {
		select {
		case <-quit:
			return false
		default:
		}
		n.resolve(r, id)
		if time.Since(began) > tellEvery {
			n.mu.Lock()
			n.queue = append(list[i+1:], n.queue...)
			n.mu.Unlock()
			break
		}
	}
	return true
}

// resolve names one address.
func (n *Names) resolve(r profile.Resolver, id profile.LocID) {
	l := n.stacks.LocOf(id)
	var found []Frame
	if m := l.Module; m != nil {
		found = n.framesOf(m, r.Resolve(m, l.Addr-m.Bias))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(found) == 0 {
		found = []Frame{n.unnamed(&l)}
	}
	if m := l.Module; found[0].Nameless && m != nil && m.File == 0 && len(n.nameless) < mostAgain {
		n.nameless = append(n.nameless, id)
	}
	fs := n.numbers(found)
	if before := n.locs[id]; !slices.Equal(fs, before.frames) {
		n.modified++
		if before.final {
			clear(n.whole) // its stacks have the old one
		}
	}
	n.locs[id] = named{fs, true, l.Machinery}
	delete(n.asked, id)
}

// framesOf gives functions as tables have them.
func (n *Names) framesOf(m *profile.ModuleInfo, list []profile.Frame) (out []Frame) {
	module := ""
	if m != nil {
		module = n.moduleOf(m)
	}
	for _, f := range list {
		if f.Name != "" {
			out = append(out, Frame{f.Name, module, waits.RulesFile(module, f.File),
				module != "" && f.Name == namehints.Bracketed(module)})
		}
	}
	return out
}

// unnamedAtATime bounds the addresses that NameGenerated asks for.
const unnamedAtATime = 256

// NameGenerated names code that was made at run time and tells its own names, for callers on whose goroutine those may
// be asked for. It is brief.
func (n *Names) NameGenerated(r profile.Resolver) {
	n.mu.Lock()
	list := slices.Clone(n.nameless[:min(len(n.nameless), unnamedAtATime)])
	n.nameless = slices.Delete(n.nameless, 0, len(list))
	n.mu.Unlock()
	for _, id := range list {
		n.resolve(r, id)
	}
}

// unnamed is the frame of an address that has no function, or none yet.
func (n *Names) unnamed(l *profile.Loc) Frame {
	if l.Synthetic != "" {
		return Frame{Name: l.Synthetic}
	}
	module := ""
	if l.Module != nil {
		module = n.moduleOf(l.Module)
	}
	return Frame{Name: namehints.Bracketed(module), Module: module, Nameless: true}
}

// moduleOf is the name that people know a file by.
func (n *Names) moduleOf(m *profile.ModuleInfo) string {
	name := m.Path
	if name != "" && name[0] != '[' {
		name = filepath.Base(name)
	}
	return name
}

func (n *Names) numbers(list []Frame) []int32 {
	out := make([]int32, len(list))
	for i, f := range list {
		k, ok := n.index[f]
		if !ok {
			k = int32(len(n.frames))
			n.frames = append(n.frames, f)
			n.support = append(n.support, f.synthetic() || namehints.Support(f.Name, f.Module))
			n.index[f] = k
		}
		out[i] = k
	}
	return out
}

// ask asks again for the names of code that was made at run time, now and then.
func (n *Names) ask(now time.Time) {
	if len(n.nameless) == 0 || now.Before(n.again) {
		return
	}
	n.again = now.Add(askAgain)
	for _, id := range n.nameless {
		if !n.asked[id] {
			n.asked[id] = true
			n.queue = append(n.queue, id)
		}
	}
	n.nameless = n.nameless[:0]
	n.rouse()
}

// of gives the frames of a stack, innermost first, and asks for names that it does not have yet. n.mu is held.
func (n *Names) of(id sample.StackID) []int32 {
	if fs, ok := n.whole[id]; ok {
		return fs
	}
	if id == earlierStack {
		return n.numbers([]Frame{{Name: earlier}})
	}
	var out, machinery []int32
	final := true
	n.buf = n.stacks.Stack(id, n.buf[:0])
	for _, l := range n.buf {
		at, ok := n.locs[l]
		if !ok {
			at = n.request(l)
		}
		final = final && at.final
		if at.runs { // as report does: who has nothing else keeps them
			machinery = append(machinery, at.frames...)
			continue
		}
		out = append(out, at.frames...)
	}
	if len(out) == 0 {
		out = machinery
	}
	if final {
		if len(n.whole) >= mostCells {
			clear(n.whole)
		}
		n.whole[id] = out
	}
	return out
}

// request asks for the name of an address; until it comes its module stands for it.
func (n *Names) request(id profile.LocID) named {
	l := n.stacks.LocOf(id)
	if m := l.Module; m != nil && m.Path != "" && !n.met[m.Path] {
		n.met[m.Path] = true
		n.paths = append(n.paths, m.Path)
	}
	at := named{n.numbers([]Frame{n.unnamed(&l)}), l.Synthetic != "" || l.Module == nil, l.Machinery}
	if told := n.framesOf(l.Module, n.stacks.Told(l.Described)); len(told) > 0 { // in the walk, by a run-time system
		at.frames, at.final = n.numbers(told), true
	}
	n.locs[id] = at
	if !at.final {
		n.asked[id] = true
		n.queue = append(n.queue, id)
		n.rouse()
	}
	return at
}

// rouse wakes up who gives names.
func (n *Names) rouse() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}
