// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"
	"sync"
	"time"

	"prywalk/internal/base/cache"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/unnamedcode"
)

// Names gives sinks the frames of a Builder's stacks. The caller resolves locations or, since reading a file can take
// seconds, [Names.Run] does. Safe for concurrent use.
type Names struct {
	builder    *Builder
	onNewNames func() // called after new names; nil means none

	mu               sync.Mutex
	known            map[LocID][]Frame
	queue            []Named // Frames are not set
	queued           map[LocID]bool
	unnamedGenerated []Named // Frames are not set
	renamed          int64   // names that replaced others
	evictions        int     // as of the locations here
	wake             chan struct{}
}

// Named is a location with its functions.
type Named struct {
	Loc
	ID LocID
	// Frames are the functions, innermost inlined call first; empty if there is no name, or none yet.
	Frames []Frame
	// Final is false while the location is queued.
	Final bool
}

const (
	maxKnownNames = 1 << 17
	// Generated code to name again: in all, and in a call of [Names.NameSomeGenerated].
	maxUnnamedGenerated, generatedNamesPerCall = 1 << 12, 256
	maxResolveTime                             = 200 * time.Millisecond
	dropUnusedEvery                            = 10 * time.Second
)

// NewNames returns the Names of a recording. onNewNames, if not nil, is called after new names, and must not block.
func NewNames(b *Builder, onNewNames func()) *Names {
	return &Names{builder: b, onNewNames: onNewNames, known: map[LocID][]Frame{}, queued: map[LocID]bool{},
		wake: make(chan struct{}, 1), evictions: b.Evictions()}
}

// Stack appends a stack's locations, innermost first; none if it was evicted. r resolves unknown ones; if it is nil,
// they are queued. Precondition with r: no stack is evicted meanwhile, since Stack releases the lock.
func (n *Names) Stack(id sample.StackID, r Resolver, out []Named) []Named {
	n.mu.Lock()
	defer n.mu.Unlock()
	from := len(out)
	out, evictions := n.builder.Stack(id, out)
	if evictions != n.evictions { // the locations are renumbered
		n.evictions, n.queue, n.unnamedGenerated = evictions, nil, nil
		clear(n.known)
		clear(n.queued)
	}
	for i := from; i < len(out); i++ {
		n.addFrames(&out[i], r)
	}
	return out
}

func (n *Names) addFrames(l *Named, r Resolver) {
	fs, known := n.known[l.ID]
	l.Final = true
	switch {
	case l.Synthetic != "":
		l.Frames = []Frame{{Name: l.Synthetic}}
	case l.FramesID != 0: // Builder.Stack has set them
	case l.Module == nil, known && (r == nil || !l.mayGetName(fs)):
		l.Frames = fs
	case r != nil:
		l.Frames = n.resolve(r, *l)
	default:
		l.Final = false
		n.enqueue(*l)
	}
}

// mayGetName reports whether code with the known frames fs is generated, and may have a name by now.
func (l *Named) mayGetName(fs []Frame) bool { return len(fs) == 0 && l.Module.File == 0 }

func (n *Names) enqueue(l Named) {
	if n.queued[l.ID] {
		return
	}
	n.queued[l.ID] = true
	n.queue = append(n.queue, l)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// resolve releases the lock for r. Precondition: n.mu is held.
func (n *Names) resolve(r Resolver, l Named) []Frame {
	evictions := n.evictions
	n.mu.Unlock()
	fs := slices.Clone(r.Resolve(l.Module, l.Addr-l.Module.Bias))
	n.mu.Lock()
	if evictions != n.evictions {
		return fs
	}
	before, known := n.known[l.ID]
	if known && !slices.Equal(before, fs) {
		n.renamed++
	}
	cache.Put(&n.known, maxKnownNames, l.ID, fs)
	delete(n.queued, l.ID)
	unnamed := len(fs) == 0 || fs[0].Name == unnamedcode.Bracketed(l.Module.Path)
	if unnamed && l.Module.File == 0 && len(n.unnamedGenerated) < maxUnnamedGenerated {
		n.unnamedGenerated = append(n.unnamedGenerated, l)
	}
	return fs
}

// Run resolves queued locations until quit is closed, and periodically calls r's DropUnused, if it has one.
func (n *Names) Run(r Resolver, quit <-chan struct{}) {
	every := time.NewTicker(dropUnusedEvery)
	defer every.Stop()
	for {
		select {
		case <-quit:
			return
		case <-every.C:
			if tables, ok := r.(interface{ DropUnused() }); ok {
				tables.DropUnused()
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

// ResolveNow resolves queued locations, and again generated code without a name.
func (n *Names) ResolveNow(r Resolver) {
	n.mu.Lock()
	for _, l := range n.unnamedGenerated {
		n.enqueue(l)
	}
	n.unnamedGenerated = nil
	n.mu.Unlock()
	for n.resolveSome(r, nil) {
	}
}

// resolveSome takes about maxResolveTime. It returns false if nothing was queued, or quit is closed.
func (n *Names) resolveSome(r Resolver, quit <-chan struct{}) bool {
	began, resolved := time.Now(), false
	n.mu.Lock()
	defer n.mu.Unlock()
	for time.Since(began) < maxResolveTime {
		select {
		case <-quit:
			return false
		default:
		}
		if len(n.queue) == 0 {
			return resolved
		}
		l := n.queue[0]
		n.queue = n.queue[1:]
		n.resolve(r, l)
		resolved = true
	}
	return true
}

// NameSomeGenerated names at most generatedNamesPerCall locations of generated code again. Precondition: the goroutine
// owns r's tables.
func (n *Names) NameSomeGenerated(r Resolver) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for range min(len(n.unnamedGenerated), generatedNamesPerCall) {
		if len(n.unnamedGenerated) == 0 { // an eviction has renumbered the rest
			return
		}
		l := n.unnamedGenerated[0]
		n.unnamedGenerated = n.unnamedGenerated[1:]
		n.resolve(r, l)
	}
}

// Pending returns the number of queued locations.
func (n *Names) Pending() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queued)
}

// Renamed counts names that replaced earlier ones.
func (n *Names) Renamed() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.renamed
}
