// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// # Pending awaits
//
// A suspended asynchronous function is an object of the heap (src/objects/js-generator.tq). A pending promise that it
// awaits leads to it, and its own promise to the function that awaits it:
//
//	JSPromise ──► JSAsyncFunctionObject ── promise ──► JSPromise ──► JSAsyncFunctionObject ── …
//	                 │ function, offset of the await in its bytecodes
//
// The pages are searched for such promises (heappages.go). All objects are read twice: equal readings prove that the
// links were there together. Objects that are garbage, but not collected yet, look alive.

const (
	asyncSize         = 88 // of a function's, the smallest
	asyncFunction     = 24
	asyncOffset       = 48
	asyncContinuation = 64
	asyncPromise      = 80 // or queue of an asynchronous generator
	maxAwaits         = 1 << 17
	maxLinks          = 64 // promises between two functions
	maxAwaitDepth     = 1 << 12
	maxAwaitSteps     = 1 << 22
	maxAwaitFrames    = 1 << 20 // of all chains
	awaitTries        = 4
)

// awaitNode is a suspended function.
type awaitNode struct {
	head     [asyncSize]byte
	awaited  uint64 // promise
	function *function
	offset   int      // of the await in the bytecodes
	frame    int      // in awaitReader.frames; 0 until it is made
	outer    []uint64 // those that await it
	promises []uint64 // on the way there
	inner    bool     // it awaits another of these
	unproven bool
	onPath   bool
	shown    bool
}

func (n *awaitNode) word(offset int) uint64 { return binary.LittleEndian.Uint64(n.head[offset:]) }

type awaitReader struct {
	promises promises
	runtime  *Runtime
	pages    managed.Pages
	at       map[uint64]*awaitNode
	order    []uint64
	list     managed.AwaitList
	chains   map[string]int // places in the list
	path     []*awaitNode
	key      []byte
	frames   []managed.Frame // from 1 on
	steps    int
	listed   int // frames of all chains
}

// Awaits implements [managed.AwaitSource].
func (r *Runtime) Awaits(w managed.Watch, until int64) (best managed.AwaitList) {
	t := &r.heap.build.types
	if _, is := r.heap.host.(managed.AreaHost); !is || min(t.promise, t.reaction, t.capability, t.asyncFunction,
		t.asyncGenerator, t.generatorRequest, t.awaitContext, t.lastContext) == 0 {
		return best // the program lacks a symbol
	}
	defer func(at int64, l managed.Live) { r.functions.copiedAt, r.heap.live = at, l }(r.functions.copiedAt, r.heap.live)
	begun, before := procmem.Now(), &awaitReader{}
	for try := range awaitTries {
		r.functions.copiedAt, r.heap.live = procmem.Now(), running{r.heap.host}
		a := &awaitReader{runtime: r, chains: map[string]int{}, at: map[uint64]*awaitNode{},
			frames: make([]managed.Frame, 1), promises: promises{&r.heap, &r.functions, map[uint64]*promiseNode{}, maxReactions}}
		a.read(w, until, before)
		if try == 0 || a.list.Unproven < best.Unproven && !a.list.Cut {
			best = a.list
		}
		now := procmem.Now()
		if before = a; best.Unproven == 0 || a.list.Cut || now+2*(now-begun)/int64(try+1) > until {
			break
		}
	}
	return best
}

func (a *awaitReader) read(w managed.Watch, until int64, before *awaitReader) {
	asleep := w.Mark(nil)
	s := heapScan{heap: a.promises.heap, deadline: until}
	s.run()
	a.list.Read, a.list.Cut, a.list.Unread = s.size, s.cut, s.lost
	direct := a.promises.heap.live
	a.promises.heap.live = running{&a.pages}
	a.pages.Reset(direct)
	for _, w := range s.found {
		for _, g := range a.promises.node(w).awaits {
			a.add(g, w)
		}
	}
	for i := 0; i < len(a.order); i++ { // it grows
		a.readAwait(a.order[i], a.at[a.order[i]])
	}
	a.pages.Reset(direct)
	a.verify()
	a.list.Cut = a.list.Cut || a.promises.left < 0
	a.list.Undisturbed = !a.list.Cut && s.lost == 0 && asleep && w.Slept()
	a.follow(before)
	a.promises.heap.live = direct
}

func (a *awaitReader) add(w, awaited uint64) {
	if len(a.order) >= maxAwaits {
		a.list.Cut = true
	} else if a.at[w] == nil {
		a.at[w], a.order = &awaitNode{awaited: awaited}, append(a.order, w)
	}
}

func (a *awaitReader) readAwait(w uint64, n *awaitNode) {
	if n.unproven = a.promises.heap.live.Read(w-heapObjectTag, n.head[:]) != len(n.head); n.unproven {
		return
	}
	closure, ok1 := a.promises.heap.isFunction(n.word(asyncFunction))
	at, ok2 := smiValue(n.word(asyncOffset))
	continuation, ok3 := smiValue(n.word(asyncContinuation))
	if n.unproven = !ok1 || !ok2 || !ok3 || continuation < 0; !n.unproven {
		n.offset = at - (int(a.promises.heap.build.bytesData) - heapObjectTag)
		n.function = a.promises.functions.functionOf(a.promises.heap.field(closure, a.promises.heap.build.jsShared))
		n.unproven = n.function == nil || n.offset < 0
	}
	own, typ := a.promises.heap.object(n.word(asyncPromise))
	if typ == a.promises.heap.build.types.generatorRequest {
		own, typ = a.promises.heap.object(a.promises.heap.field(own, requestPromise))
	}
	switch {
	case typ == a.promises.heap.build.types.promise:
		a.followPromise(own, n)
	case a.promises.heap.typeOf(n.word(0)) != a.promises.heap.build.types.asyncGenerator: // else nothing asks it for more
		n.unproven = true
	}
}

// followPromise finds the functions that a promise continues. That of Promise.race can be settled.
func (a *awaitReader) followPromise(w uint64, n *awaitNode) {
	n.promises = append(n.promises, w)
	for i := 0; i < len(n.promises); i++ {
		p := a.promises.node(n.promises[i])
		n.unproven = n.unproven || p.state == unread || i == 0 && p.state == settled
		for _, g := range p.awaits {
			a.add(g, n.promises[i])
			n.outer = append(n.outer, g)
		}
		for _, to := range p.leads {
			if len(n.promises) >= maxLinks {
				n.unproven = true
			} else if !slices.Contains(n.promises, to) {
				n.promises = append(n.promises, to)
			}
		}
	}
}

// verifyTime bounds the second search of pages.
const verifyTime = int64(time.Second)

// verify reads all objects again.
func (a *awaitReader) verify() {
	pages, _, cut := a.promises.heap.heapPages(procmem.Now() + verifyTime)
	a.list.Cut = a.list.Cut || cut
	same := map[uint64]bool{}
	for _, w := range slices.Sorted(maps.Keys(a.promises.nodes)) { // neighbours are on one page
		s, reactions := a.promises.stateOf(w)
		same[w] = s == a.promises.nodes[w].state && reactions == a.promises.nodes[w].reactions && inUse(pages, w)
	}
	for _, w := range a.order {
		n := a.at[w]
		var again [asyncSize]byte
		a.promises.heap.live.Read(w-heapObjectTag, again[:])
		changed := func(w uint64) bool { return !same[w] }
		n.unproven = n.unproven || again != n.head || changed(n.awaited) || slices.ContainsFunc(n.promises, changed) ||
			!inUse(pages, w)
	}
}
