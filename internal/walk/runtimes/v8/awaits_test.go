// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
)

// Types of the fake heap beyond those of fuzz_test.go; functions and promises are the last.
const (
	fakePromise = 200 + iota
	fakeReaction
	fakeCapability
	fakeAsyncFunction
	fakeAsyncGenerator
	fakeRequest
	fakeAwaitContext
	fakeContext
	fakeFree
)

// awaitHeap is one page with objects, made from its start on.
type awaitHeap struct {
	b     []byte
	next  int
	maps  map[uint16]int
	empty uint64
}

const (
	fakePage   = pageSize // bytes
	fakeSpace  = 0x77000
	fakeObject = 0x1000 // first object
)

// newAwaitHeap has a header as from V8 12.4 on.
func newAwaitHeap() *awaitHeap {
	h := &awaitHeap{b: make([]byte, fakePage), next: fakeObject, maps: map[uint16]int{}}
	for i, w := range []uint64{4, fakeAt, fakePage, fakeAt, fakeAt + fakeObject, fakeAt + fakePage, 0, 0, 0, fakeSpace} {
		put(h.b, 8*i, w)
	}
	return h
}

func (h *awaitHeap) object(typ uint16, words ...uint64) uint64 {
	if h.maps[typ] == 0 {
		at := h.next
		h.next += 24
		put(h.b, at, pointer(at))
		if typ != fakeMap {
			put(h.b, at, h.object(fakeMap))
		}
		binary.LittleEndian.PutUint16(h.b[at+instanceType:], typ)
		h.maps[typ] = at
	}
	if typ == fakeMap {
		return pointer(h.maps[typ])
	}
	at := h.next
	h.next += 8 * (len(words) + 1)
	put(h.b, at, pointer(h.maps[typ]))
	for i, w := range words {
		put(h.b, at+8*(i+1), w)
	}
	return pointer(at)
}

func (h *awaitHeap) set(object uint64, offset int, w uint64) {
	put(h.b, int(object-heapObjectTag-fakeAt)+offset, w)
}

func smi(n int) uint64 { return uint64(n) << 32 }

func (h *awaitHeap) promise() uint64 {
	if h.empty == 0 {
		h.empty = h.object(fakeArray, 0)
	}
	return h.object(fakePromise, h.empty, h.empty, 0, 0)
}

// function returns a suspended function's object, and its own promise.
func (h *awaitHeap) function(name string) (await, own uint64) {
	characters := binary.LittleEndian.Uint64(append([]byte(name), make([]byte, 8)...))
	text := h.object(oneByteString, uint64(len(name))<<32, characters)
	info := h.object(fakeSFI, make([]uint64, 8)...)
	h.set(info, 16, text) // its place in V8 12.4
	closure := h.object(fakeFunction, 0, 0, 0, info, 0)
	own = h.promise()
	return h.object(fakeAsyncFunction, 0, 0, closure, 0, 0, smi(80), 0, smi(1), 0, own), own
}

// react adds a reaction that calls a builtin with a context.
func (h *awaitHeap) react(promise, context, derived uint64) {
	info := h.object(fakeSFI, make([]uint64, 8)...)
	closure := h.object(fakeFunction, 0, 0, 0, info, context)
	reaction := h.object(fakeReaction, 0, closure, closure, derived, 0)
	h.set(promise, promiseReactions, reaction)
}

func (h *awaitHeap) await(promise, function uint64) {
	h.react(promise, h.object(fakeAwaitContext, smi(3), 0, 0, function), 0)
}

type areaHost struct{ fakeHost }

func (h areaHost) AnonymousAreas(f func(managed.Span)) {
	f(managed.Span{Start: fakeAt, End: fakeAt + fakePage})
}

func (h *awaitHeap) runtime() *Runtime {
	r := fakeRuntime(version{12, 4}, h.b)
	t := &r.heap.build.types
	t.promise, t.reaction, t.capability, t.asyncFunction = fakePromise, fakeReaction, fakeCapability, fakeAsyncFunction
	t.asyncGenerator, t.generatorRequest, t.awaitContext = fakeAsyncGenerator, fakeRequest, fakeAwaitContext
	t.lastContext, t.freeSpace = fakeContext, fakeFree
	r.heap.host = areaHost{r.heap.host.(fakeHost)}
	return r
}

func (h *awaitHeap) chains(w managed.Watch) (got []string, list managed.AwaitList) {
	list = h.runtime().Awaits(w, 1<<62)
	for _, t := range list.Tasks {
		var names []string
		for _, f := range t.Frames {
			names = append(names, f.Function)
		}
		got = append(got, fmt.Sprint(t.Count, " ", strings.Join(names, " "), " ", t.Awaits))
	}
	return got, list
}

func wantChains(t *testing.T, h *awaitHeap, w managed.Watch, want ...string) managed.AwaitList {
	t.Helper()
	got, list := h.chains(w)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("chains %q, want %q (%+v)", got, want, list)
	}
	return list
}

func TestAwaitsAreFollowedToTheOutermostFunction(t *testing.T) {
	h := newAwaitHeap()
	inner, ofInner := h.function("inner")
	middle, ofMiddle := h.function("middle")
	outer, _ := h.function("outer")
	h.await(h.promise(), inner)
	h.await(ofInner, middle)
	capability := h.object(fakeCapability, h.promise(), 0, 0) // Promise.all
	combined := binary.LittleEndian.Uint64(h.b[capability-heapObjectTag-fakeAt+capabilityTo:])
	h.react(ofMiddle, h.object(fakeContext, smi(5), 0, 0, 0, capability, 0), 0)
	h.await(combined, outer)
	list := wantChains(t, h, callstack.CoreWatch{}, "1 inner middle outer ")
	if list.Pending != 3 || list.Unproven != 0 || !list.Undisturbed {
		t.Errorf("%+v", list)
	}
}

func TestAFunctionThatIsNotSuspendedIsLeftOut(t *testing.T) {
	h := newAwaitHeap()
	inner, ofInner := h.function("inner")
	outer, _ := h.function("outer")
	h.await(h.promise(), inner)
	h.await(ofInner, outer)
	h.set(inner, asyncContinuation, smi(-1))
	if list := wantChains(t, h, callstack.CoreWatch{}); list.Unproven != 1 {
		t.Errorf("%+v", list)
	}
}

func TestACycleOfAwaitsIsShownOnce(t *testing.T) {
	h := newAwaitHeap()
	a, ofA := h.function("a")
	b, ofB := h.function("b")
	h.await(ofA, b)
	h.await(ofB, a)
	wantChains(t, h, callstack.CoreWatch{}, "1 b a "+cyclic)
}

func TestRemainsInFreeSpaceAreNoAwaits(t *testing.T) {
	h := newAwaitHeap()
	free := h.object(fakeFree, 0)
	lost, _ := h.function("lost")
	h.await(h.promise(), lost)
	h.set(free, 8, smi(h.next-int(free-heapObjectTag-fakeAt)))
	kept, _ := h.function("kept")
	h.await(h.promise(), kept)
	wantChains(t, h, callstack.CoreWatch{}, "1 kept ")
}

func TestPagesOfNewObjectsAreReadUpToTheLastOne(t *testing.T) {
	h := newAwaitHeap()
	kept, _ := h.function("kept")
	h.await(h.promise(), kept)
	top := fakeAt + uint64(h.next)
	lost, _ := h.function("lost")
	h.await(h.promise(), lost)
	put(h.b, 0, fromPage)
	wantChains(t, h, callstack.CoreWatch{})
	put(h.b, 0, toPage)
	if list := wantChains(t, h, callstack.CoreWatch{}); list.Unread != 1 {
		t.Errorf("without a place of allocation %+v, want 1 page unread", list)
	}
	put(h.b, 72, fakeAt+fakeObject/2) // the space is in the page's header
	for i, w := range []uint64{fakeAt + fakeObject, top, fakeAt + fakePage} {
		put(h.b, fakeObject/2+8*i, w)
	}
	if list := wantChains(t, h, callstack.CoreWatch{}, "1 kept "); list.Unread != 0 {
		t.Errorf("%+v", list)
	}
}

// awake hides a suspended function in the first reading, as a collection can.
type awake struct {
	callstack.CoreWatch
	hide, show func()
	n          *int
}

func (w awake) Mark([]int) bool {
	if *w.n++; *w.n == 1 {
		w.hide()
	} else {
		w.show()
	}
	return false
}

func TestTwoReadingsMustAgreeOnTheInnermostFunctionIfThreadsRun(t *testing.T) {
	h := newAwaitHeap()
	inner, ofInner := h.function("inner")
	outer, _ := h.function("outer")
	p := h.promise()
	h.await(p, inner)
	h.await(ofInner, outer)
	is := binary.LittleEndian.Uint64(h.b[p-heapObjectTag-fakeAt:])
	w := awake{hide: func() { h.set(p, 0, 0) }, show: func() { h.set(p, 0, is) }, n: new(int)}
	wantChains(t, h, w, "1 inner outer ")
	if *w.n != 3 {
		t.Errorf("%d readings, want 3", *w.n)
	}
}

func FuzzAwaits(f *testing.F) {
	f.Add(uint16(0), uint64(0), uint16(8), uint64(5))
	f.Fuzz(func(t *testing.T, at1 uint16, w1 uint64, at2 uint16, w2 uint64) {
		h := newAwaitHeap()
		inner, ofInner := h.function("inner")
		outer, ofOuter := h.function("outer")
		h.await(h.promise(), inner)
		h.await(ofInner, outer)
		h.react(ofOuter, h.object(fakeContext, smi(4), 0, 0, ofInner, 0), ofInner)
		size := (h.next - fakeObject) / 8
		put(h.b, fakeObject+8*(int(at1)%size), w1)
		put(h.b, 8*(int(at2)%headerWords), w2)
		put(h.b, fakeObject+8*(int(at2)%size), w1^w2)
		if list := h.runtime().Awaits(callstack.CoreWatch{}, 1<<62); list.Pending > 2 {
			t.Errorf("%d functions of 2", list.Pending)
		}
	})
}
