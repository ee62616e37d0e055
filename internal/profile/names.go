// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"iter"
	"slices"
	"sync"
	"time"

	"prywalk/internal/sample"
)

// Names gives sinks the frames of a Builder's stacks during the recording. Each location is resolved once, by the
// caller or, since reading a file can take seconds, in [Names.Run]. Safe for concurrent use.
type Names struct {
	builder    *Builder
	onNewNames func() // called after new names; nil: none

	mu               sync.Mutex
	known            map[LocID][]Frame
	queue            []LocID
	queued           map[LocID]bool
	unnamedGenerated []LocID // generated code without a name yet
	changes, renamed int64
	evictions        int // the Builder's, when known was emptied
	wake             chan struct{}
	buf              []LocID
}

// Named is a location with its functions.
type Named struct {
	Loc
	ID LocID
	// Frames are the functions, innermost inlined call first; empty: no name (yet).
	Frames []Frame
	// Final is false while it is queued.
	Final bool
}

const (
	// Number of names at which all are forgotten.
	maxKnownNames = 1 << 17
	// Generated code to name again, in all and per [Names.NameSomeGenerated].
	maxUnnamedGenerated, generatedNamesPerCall = 1 << 12, 256
	// Least time between two calls of onNewNames.
	minNotifyInterval = 200 * time.Millisecond
	dropUnusedEvery   = 10 * time.Second
)

// NewNames returns the Names of a recording. named, if not nil, is called after new names, and must not block.
func NewNames(b *Builder, onNewNames func()) *Names {
	return &Names{builder: b, onNewNames: onNewNames, known: map[LocID][]Frame{}, queued: map[LocID]bool{},
		wake: make(chan struct{}, 1), evictions: b.Evictions()}
}

// Stack appends a stack's locations, innermost first; none if it was evicted. r resolves unknown ones; nil: they are
// queued.
func (n *Names) Stack(id sample.StackID, r Resolver, out []Named) []Named {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgetEvicted()
	buf := n.builder.Stack(id, n.buf[:0])
	n.buf = nil // n.location may release the lock
	for _, l := range buf {
		out = append(out, n.location(l, r))
	}
	n.buf = buf
	return out
}

func (n *Names) location(id LocID, r Resolver) Named {
	at := Named{Loc: n.builder.LocOf(id), ID: id, Final: true}
	fs, ok := n.known[id]
	switch {
	case at.Synthetic != "":
		at.Frames = []Frame{{Name: at.Synthetic}}
	case at.FramesID != 0:
		at.Frames = n.builder.FramesOf(at.FramesID)
	case at.Module == nil, ok && (r == nil || len(fs) > 0 || at.Module.File != 0): // else it may be named by now
		at.Frames = fs
	case r != nil:
		at.Frames = n.resolve(r, id, at.Loc)
	default:
		at.Final = false
		n.enqueue(id)
	}
	return at
}

func (n *Names) enqueue(id LocID) {
	if n.queued[id] {
		return
	}
	n.queued[id] = true
	n.queue = append(n.queue, id)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// resolve releases the lock for r. Precondition: n.mu is held.
func (n *Names) resolve(r Resolver, id LocID, l Loc) []Frame {
	evictions := n.evictions
	n.mu.Unlock()
	fs := slices.Clone(r.Resolve(l.Module, l.Addr-l.Module.Bias))
	n.mu.Lock()
	if evictions != n.evictions {
		return fs
	}
	before, again := n.known[id]
	if !again || !slices.Equal(before, fs) {
		n.changes++
		if again {
			n.renamed++
		}
	}
	if len(n.known) >= maxKnownNames {
		clear(n.known)
	}
	n.known[id] = fs
	delete(n.queued, id)
	nothing := len(fs) == 0 || fs[0].Name == namelessFunction(l.Module.Path)
	if nothing && l.Module.File == 0 && len(n.unnamedGenerated) < maxUnnamedGenerated {
		n.unnamedGenerated = append(n.unnamedGenerated, id)
	}
	return fs
}

// forgetEvicted drops names of renumbered locations. Precondition: n.mu is held.
func (n *Names) forgetEvicted() {
	if now := n.builder.Evictions(); now != n.evictions {
		n.evictions, n.queue, n.unnamedGenerated = now, nil, nil
		clear(n.known)
		clear(n.queued)
	}
}

// Run resolves queued locations until quit is closed, and now and then calls r's DropUnused, if it has that.
func (n *Names) Run(r Resolver, quit <-chan struct{}) {
	every := time.NewTicker(dropUnusedEvery)
	defer every.Stop()
	for {
		select {
		case <-quit:
			return
		case <-every.C:
			if rest, ok := r.(interface{ DropUnused() }); ok {
				rest.DropUnused()
			}
		case <-n.wake:
			for n.resolveSome(r, quit) {
				if n.onNewNames != nil {
					n.onNewNames()
				}
			}
		}
	}
}

// ResolveNow resolves queued locations, and generated code without a name again.
func (n *Names) ResolveNow(r Resolver) {
	n.mu.Lock()
	for _, id := range n.unnamedGenerated {
		n.enqueue(id)
	}
	n.unnamedGenerated = nil
	n.mu.Unlock()
	for n.resolveSome(r, nil) {
	}
}

// resolveSome resolves for at most minNotifyInterval; false: nothing was queued.
func (n *Names) resolveSome(r Resolver, quit <-chan struct{}) bool {
	began, resolved := time.Now(), false
	n.mu.Lock()
	defer n.mu.Unlock()
	for time.Since(began) < minNotifyInterval {
		n.forgetEvicted()
		select {
		case <-quit:
			return false
		default:
		}
		if len(n.queue) == 0 {
			return resolved
		}
		id := n.queue[0]
		n.queue = n.queue[1:]
		n.resolve(r, id, n.builder.LocOf(id))
		resolved = true
	}
	return true
}

// NameSomeGenerated names some generated code again, briefly, on the goroutine that owns r's tables.
func (n *Names) NameSomeGenerated(r Resolver) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgetEvicted()
	list := slices.Clone(n.unnamedGenerated[:min(len(n.unnamedGenerated), generatedNamesPerCall)])
	n.unnamedGenerated = slices.Delete(n.unnamedGenerated, 0, len(list))
	for _, id := range list {
		n.resolve(r, id, n.builder.LocOf(id))
	}
}

// NameGenerated names the stacks' code in modules that is selects, on the goroutine that owns r's tables.
func (n *Names) NameGenerated(stacks iter.Seq[sample.StackID], r Resolver, is func(*ModuleInfo) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgetEvicted()
	left := maxUnnamedGenerated
	seen := map[sample.StackID]bool{}
	for stack := range stacks {
		if seen[stack] {
			continue
		}
		seen[stack] = true
		for _, id := range n.builder.Stack(stack, nil) {
			if _, ok := n.known[id]; ok || left == 0 {
				continue
			}
			if l := n.builder.LocOf(id); l.Module != nil && l.FramesID == 0 && is(l.Module) {
				left--
				if fs := r.Resolve(l.Module, l.Addr-l.Module.Bias); len(fs) > 0 {
					n.known[id] = fs
				}
			}
		}
	}
}

// Waiting returns the number of queued locations.
func (n *Names) Waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queued)
}

// Changes counts new names, and those that replaced earlier ones.
func (n *Names) Changes() (named, renamed int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changes, n.renamed
}
