// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"strings"

	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
)

// # What goroutines wait for
//
// A waiting goroutine has sudogs (runtime/runtime2.go) in queues: one of a semaphore, or one per channel of a select.
//
//	g.waiting ──► sudog            hchan  (also of semaphores since Go 1.26)
//	              +0  g            +0 qcount, +8 dataqsiz, +28 closed
//	              +24 elem         recvq, sendq: first and last sudog
//	              waitlink ──► …
//	              c ─────────────► (chan.go)
//
// Until Go 1.25 a semaphore's sudog is only on the stack of semacquire1. A sudog is valid if it names the g and is in
// its channel's queue. Since Go 1.26 elem has two words; the second is the address.
const (
	sudogBytes = 104
	sudogNext  = 8
	sudogElem  = 24
)

// sudogLayouts has the offsets of waitlink and c, newest first: both elem and c have two words (since Go 1.26), only
// elem, neither.
var sudogLayouts = [...]struct{ waitLink, channel int64 }{{72, 96}, {72, 88}, {64, 80}}

const (
	hchanBytes = 96
	hchanRoom  = 8
	hchanFlag  = 28
	hchanRecv  = 56 // first of recvq, 64 since Go 1.23; sendq follows
)

const (
	maxWaitStack = 1 << 10 // bytes
	maxSelect    = 64      // channels of a select
	maxQueue     = 1 << 16
	maxSudogs    = 1 << 20 // of all queues
)

// g.waiting is this far from startpc.
const afterStartWaiting = 16

type waitQueues struct {
	allgs  *allgs
	queues map[uint64]queue // by address
	sudogs int
}

// WaitsAt implements [managed.Scheduler].
func (ws *waitQueues) WaitsAt(t *managed.TaskRecord, stack []byte) (out []managed.TaskWait) {
	first, ok := ws.allgs.program.word(t.Object + uint64(ws.allgs.fields.start+afterStartWaiting))
	if !ok {
		return nil
	}
	switch {
	case t.Wait == "semacquire", strings.HasPrefix(t.Wait, "sync."):
		return ws.semaphore(t, first, stack)
	case !strings.HasPrefix(t.Wait, "chan ") && !strings.HasPrefix(t.Wait, "select"):
		return nil // not a sudog: a coroutine's coro (iter.Pull), which begins with its g, too
	}
	for at := first; at != 0 && len(out) < maxSelect; {
		var s [sudogBytes]byte
		if ws.allgs.program.host.Read(at, s[:]) != len(s) || word64(s[:], 0) != t.Object {
			return nil
		}
		wait, next, ok := ws.channelWait(&s, at)
		if !ok {
			return nil
		}
		out, at = append(out, wait), next
	}
	return out
}

// channelWait returns the wait of the sudog at an address, and next, the select's next sudog.
func (ws *waitQueues) channelWait(sudog *[sudogBytes]byte, at uint64) (w managed.TaskWait, next uint64, ok bool) {
	for _, l := range sudogLayouts {
		if w, ok = ws.channel(word64(sudog[:], l.channel), at); ok {
			return w, word64(sudog[:], l.waitLink), true
		}
	}
	return w, 0, false
}

func word64(b []byte, at int64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

func (ws *waitQueues) semaphore(t *managed.TaskRecord, first uint64, stack []byte) []managed.TaskWait {
	if elem, ok := ws.elem(t, first); ok {
		return []managed.TaskWait{{Address: elem}}
	}
	for off := 0; off+8 <= min(len(stack), maxWaitStack); off += 8 {
		if elem, ok := ws.elem(t, binary.LittleEndian.Uint64(stack[off:])); ok {
			return []managed.TaskWait{{Address: elem}}
		}
	}
	return nil
}

func (ws *waitQueues) elem(t *managed.TaskRecord, at uint64) (uint64, bool) {
	var s [48]byte
	if at%8 != 0 || at < 1<<16 || at >= t.StackLo && at < t.StackHi || ws.allgs.program.host.Read(at, s[:]) != len(s) ||
		word64(s[:], 0) != t.Object {
		return 0, false
	}
	for _, elem := range []uint64{word64(s[:], sudogElem), word64(s[:], sudogElem+8)} {
		if elem > 1<<16 && elem%4 == 0 {
			return elem, true
		}
	}
	return 0, false
}

type queue struct {
	wait   managed.TaskWait
	sudogs map[uint64]bool // true if it waits to send
}

func (ws *waitQueues) channel(at, sudog uint64) (managed.TaskWait, bool) {
	q, known := ws.queues[at]
	if !known {
		q = ws.readChannel(at)
		cache.Put(&ws.queues, maxGoroutines, at, q)
	}
	send, ok := q.sudogs[sudog]
	wait := q.wait
	wait.Send = send
	return wait, ok
}

func (ws *waitQueues) readChannel(at uint64) (q queue) {
	var h [hchanBytes]byte
	if at < 1<<16 || at%8 != 0 || ws.allgs.program.host.Read(at, h[:]) != len(h) {
		return q
	}
	q.wait = managed.TaskWait{Address: at, Channel: true, Queued: word64(h[:], 0), Room: word64(h[:], hchanRoom),
		Closed: binary.LittleEndian.Uint32(h[hchanFlag:])&1 != 0}
	if q.wait.Queued > q.wait.Room {
		return queue{}
	}
	for _, late := range []int64{8, 0} {
		sudogs := map[uint64]bool{}
		if ws.readQueue(sudogs, word64(h[:], hchanRecv+late), word64(h[:], hchanRecv+late+8), false) &&
			ws.readQueue(sudogs, word64(h[:], hchanRecv+late+16), word64(h[:], hchanRecv+late+24), true) && len(sudogs) > 0 {
			q.sudogs = sudogs
			return q
		}
	}
	return queue{}
}

func (ws *waitQueues) readQueue(sudogs map[uint64]bool, first, last uint64, send bool) bool {
	if first == 0 || last == 0 {
		return first == last
	}
	for at := first; len(sudogs) < maxQueue && ws.sudogs < maxSudogs; {
		ws.sudogs++
		sudogs[at] = send
		if at == last {
			return true
		}
		next, ok := ws.allgs.program.word(at + sudogNext)
		if _, again := sudogs[next]; !ok || next == 0 || again {
			return false
		}
		at = next
	}
	return false
}

const (
	maxWaitReasons  = 64
	maxReasonLength = 64 // bytes
)

// Text 1 of runtime.waitReasonStrings since Go 1.11; text 0 is empty.
const secondWaitReason = "GC assist marking"

// These functions mention runtime.waitReasonStrings; the first does if it inlines the second.
var namesWaitReasons = []string{"runtime.goroutineheader", "runtime.waitReason.String"}

type waitReasons struct {
	list  uint64           // runtime.waitReasonStrings, or 0
	texts map[uint8]string // nil until the list is searched
}

func (w *waitReasons) text(r *program, n uint8) string {
	if w.texts == nil {
		w.list, w.texts = waitReasonStrings(r), map[uint8]string{}
	}
	text, known := w.texts[n]
	if !known && n < maxWaitReasons {
		text = r.stringAt(w.list, uint64(n))
		w.texts[n] = text
	}
	return text
}

func waitReasonStrings(r *program) uint64 {
	if at, _, ok := r.host.Symbol(r.module, "runtime.waitReasonStrings"); ok {
		return at
	}
	for _, function := range namesWaitReasons {
		for _, at := range r.table.referencedAddresses(function) {
			if r.stringAt(at+r.bias, 1) == secondWaitReason {
				return at + r.bias
			}
		}
	}
	return 0
}

func (p *program) stringAt(array, n uint64) string {
	var s [16]byte
	if array == 0 || p.host.Read(array+16*n, s[:]) != len(s) {
		return ""
	}
	text, ok := p.stringOf(s[:], maxReasonLength)
	if !ok || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
		return ""
	}
	return text
}
