// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"cmp"
	"encoding/binary"
)

// # Promises (src/objects/promise.tq, js-promise.tq)
//
//	JSPromise ── reactions ──► PromiseReaction ── next ──► …
//	                             │ fulfil, reject: what is called ── context ──┐
//	                             └ promise or capability, of then              │
//	an await:        await context ── extension ──► JSAsyncFunctionObject ◄────┤
//	resolve:         context ── word 2 ──► JSPromise                     ◄─────┤
//	Promise.all …:   context ── word 3 ──► PromiseCapability             ◄─────┘
//
// This is the way of V8's own asynchronous stack traces (CaptureAsyncStackTrace in src/execution/isolate.cc), which end
// at a promise with two reactions; here each is followed.

const (
	contextLength    = 8
	contextExtension = 32 // word 2, or the extension
	contextThird     = 40
	awaitWords       = 3
	maxContextWords  = 8
	capabilityTo     = 8
	requestPromise   = 32
	maxReactions     = 1 << 20 // of all promises
)

type promiseNode struct {
	state     state
	reactions uint64 // 0 means none
	awaits    []uint64
	leads     []uint64 // to promises
}

type state uint8

const (
	unread state = iota
	settled
	pending
)

type promises struct {
	heap      *heap
	functions *functions
	nodes     map[uint64]*promiseNode
	left      int // reactions that may be read
}

func (p *promises) node(w uint64) *promiseNode {
	if n := p.nodes[w]; n != nil {
		return n
	}
	n := &promiseNode{}
	p.nodes[w] = n
	if n.state, n.reactions = p.stateOf(w); n.state != pending {
		return n
	}
	for at, ok := n.reactions, false; at != 0; {
		if p.left--; p.left >= 0 {
			at, ok = p.reaction(at, n)
		}
		if !ok || p.left < 0 {
			n.state = unread
			break
		}
	}
	return n
}

// stateOf also returns the reactions of a pending promise, or 0.
func (p *promises) stateOf(w uint64) (s state, reactions uint64) {
	_, is := p.heap.ofType(w, p.heap.build.types.promise)
	flags, isSmi := smiValue(p.heap.field(w, promiseFlags))
	reactions = p.heap.field(w, promiseReactions)
	switch {
	case is && isSmi && flags&promiseStatus != 0:
		return settled, 0
	case is && isSmi && (reactions == 0 || isObject(reactions)):
		return pending, reactions
	}
	return unread, 0
}

// reaction adds what a reaction leads to. Since V8 13 a reaction begins with the embedder's data.
func (p *promises) reaction(w uint64, n *promiseNode) (next uint64, ok bool) {
	var b [40]byte
	if _, is := p.heap.ofType(w, p.heap.build.types.reaction); !is ||
		p.heap.live.Read(w-heapObjectTag+8, b[:]) < len(b)-8 {
		return 0, false
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	first := 0
	if _, is := p.heap.ofType(word(0), p.heap.build.types.reaction); !is && word(0) != 0 {
		first = 1
	}
	derived := word(first + 3)
	if called, is := p.heap.isFunction(word(first + 2)); is {
		await, to := p.calledBy(called)
		if derived = cmp.Or(to, derived); await != 0 {
			n.awaits, derived = append(n.awaits, await), 0
		}
	}
	if derived = p.promiseOf(derived); derived != 0 {
		n.leads = append(n.leads, derived)
	}
	return word(first), word(first) == 0 || isObject(word(first))
}

// calledBy returns the suspended function that a builtin continues, or the promise that it resolves. A function with a
// script is the program's.
func (p *promises) calledBy(function uint64) (await, to uint64) {
	t := &p.heap.build.types
	context, typ := p.heap.object(p.heap.field(function, p.heap.build.jsContext))
	n, ok := smiValue(p.heap.field(context, contextLength))
	shared, isShared := p.heap.ofType(p.heap.field(function, p.heap.build.jsShared), t.sfi)
	if _, hasScript := p.heap.ofType(p.heap.field(shared, p.heap.build.sfiScript), t.script); hasScript || !isShared ||
		typ < t.awaitContext || typ > t.lastContext || !ok || n < awaitWords || n > maxContextWords {
		return 0, 0
	}
	second, typ2 := p.heap.object(p.heap.field(context, contextExtension))
	switch third, _ := p.heap.ofType(p.heap.field(context, contextThird), t.capability); {
	case typ != t.awaitContext && typ2 == t.promise:
		return 0, second
	case typ != t.awaitContext && n > awaitWords:
		return 0, third
	case typ == t.awaitContext && n == awaitWords && (typ2 == t.asyncFunction || typ2 == t.asyncGenerator):
		return second, 0
	}
	return 0, 0
}

// promiseOf returns a promise, or that of a capability; it returns 0 if it is none of V8's.
func (p *promises) promiseOf(w uint64) uint64 {
	if c, is := p.heap.ofType(w, p.heap.build.types.capability); is {
		w = p.heap.field(c, capabilityTo)
	}
	promise, _ := p.heap.ofType(w, p.heap.build.types.promise)
	return promise
}
