// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/code"
)

// Walks collects what the walks of a thread need. It belongs to the goroutine that walks; methods pass hints to the
// observer.
type Walks struct {
	needs        CopyHints
	box          *tripleBuffer
	thread       *Thread     // numbers only
	topless      bool        // Top was wrong
	doubted      frames.Addr // Top that a walk passed
	doubts       int
	walked       uint
	next         int         // index of Others to replace
	remembered   *remembered // nil: not deep lately
	deepFor      int         // shallow stops in a row required
	deepLeft     int         // of these
	deepOver     int         // bytes
	untouched    int         // deepFor after absent pages
	shallowFirst int
	othersFor    int             // walks elsewhere until a place of Others is dropped
	othersLeft   [mostOthers]int // of these; 0: kept
	gaveUp       bool            // a place was dropped
}

// Walked notes what a walk has read and what it lacked, for the next observation. It is called at the end of the walk,
// with the mappings as of then. o has the walk's frames; nil if not all are known.
func (k *Walks) Walked(p *code.Process, w *frames.Walker, s *RawSample, o *Outline) {
	stop, from := w.StopReason(), s.Mem.Stack.Addr
	k.needs.Incomplete = !stop.Complete() && stop != frames.StopUnproven && stop != frames.StopDepth
	if s.short && !stop.Complete() {
		return // for want of time
	}
	cut := stop == frames.StopStackCut
	beyond := cut && w.Searched() && k.hasAll(s)
	cut = cut && !beyond
	if s.How == ByStop {
		k.stoppedDeep(depth(w, s))
	}
	k.usesOthers(w)
	if s.How == BySample && w.Away() {
		cut = false // the kernel copies one stack only
	} else if cut && w.Away() || stop == frames.StopBadMemory && p.StackEnd(w.UnreadAddr()) != 0 {
		k.lacksOther(w.UnreadAddr())
		cut = false
	}
	reach := w.Reach()
	k.ended(w, s)
	if used := reach - from; used <= s.Mem.StackEnd-from {
		if cut && s.How != BySample {
			used = max(used, k.toEnd(s))
		}
		if cut && s.pieced {
			used, cut = max(used, w.UnreadAddr()-from), false // between the pieces, or a little beyond
			k.needs.Retries++
		}
		k.used(int(used)+16, max(len(s.buf), leastCopy), cut && s.How != BySample, s.toTop)
	}
	if stop.Complete() && s.endsBeforeTop(reach) && reach-from < leastCopy {
		k.needs.Changing = true // the end is another stack's
	}
	if cut && s.How == BySample {
		k.lacksStack(s)
	}
	if o != nil && !beyond {
		k.learnOutline(w, s, o)
	}
	k.needs.Unproven = 0
	if stop == frames.StopUnproven {
		k.lacksRegister(s)
	}
	k.handOver()
}

func depth(w *frames.Walker, s *RawSample) int {
	from, reach := s.Mem.Stack.Addr, w.Reach()
	if w.Away() || reach < from || reach > s.Mem.StackEnd {
		return 0
	}
	return int(reach - from)
}

func (k *Walks) ended(w *frames.Walker, s *RawSample) {
	complete, reach := w.StopReason().Complete(), w.Reach()
	if complete && (w.Away() || w.Frame().SP != 0) {
		k.needs.Root = reach
	}
	if complete && (reach-s.Mem.Stack.Addr < uint64(len(s.Mem.Stack.Bytes)) || s.tailAt != 0 && reach > s.tailAt) {
		k.endedAt(reach)
	}
	if k.walked++; complete || k.walked == mostToEnd {
		k.needs.ToEnd = false
	}
}

func (k *Walks) hasAll(s *RawSample) bool {
	from, root := s.Mem.Stack.Addr, k.needs.Root
	return !k.needs.Changing && root > from && root-from <= uint64(len(s.Mem.Stack.Bytes))
}

// toEnd gives the size of a copy up to the end; 0: not known, or far.
func (k *Walks) toEnd(s *RawSample) uint64 {
	from, end := s.Mem.Stack.Addr, k.needs.Root
	if end <= from || k.needs.Changing {
		end = s.Mem.StackEnd
	}
	if n := end - from; end > from && n <= mostBridge {
		return n
	}
	return 0
}

func (k *Walks) lacksStack(s *RawSample) {
	switch {
	case !s.Longest():
	case len(s.Mem.Stack.Bytes) < s.asked:
		k.pagesLack(s.asked)
	default:
		k.needs.Used = s.asked + 1
		k.deepAgain(s.asked)
	}
}

func (k *Walks) handOver() { k.box.put(&k.needs) }

// used notes the bytes used by a walk, and those that a full copy has. cut: the copy was too short. toTop: it went up
// to Top. Short copies that are walked together ask for the same.
func (k *Walks) used(used, had int, cut, toTop bool) {
	old := k.needs.Bytes
	want := used + copyMargin
	switch {
	case cut && toTop && k.needs.Top != 0:
		k.doubted, k.needs.Top, k.topless = k.needs.Top, 0, true
		k.doubts++
		want = max(old, want) // Top cut it
	case cut:
		want = max(old, 4*had, want)
	case want < old:
		want = old - (old-want)/8 // depth varies
	}
	k.needs.Bytes = min(max(want, leastCopy), mostCopy)
	if k.needs.Used -= (k.needs.Used - used) / 8; used > k.needs.Used {
		k.needs.Used = used
	}
	if cut && old < mostCopy {
		k.needs.Retries++
	}
}

// endedAt bounds copies by the end of a complete walk, as other data may follow (goroutines). A Top that was wrong is
// trusted again after another complete walk, at most mostDoubts times.
func (k *Walks) endedAt(addr uint64) {
	top := addr + copyMargin
	if k.topless && top == k.doubted && k.doubts <= mostDoubts {
		k.topless = false
	}
	if !k.topless {
		k.needs.Top = top
	}
}

// mostToEnd is how many walks may fail before ToEnd is dropped.
const mostToEnd = 8

const mostDoubts = 16

// # For single observations

// CopyUpTo makes the next observations copy up to n bytes of stack, within its usual limit.
func (k *Walks) CopyUpTo(n int) {
	k.needs.Bytes = min(max(n, leastCopy), mostCopy)
	k.handOver()
}

// CopyDeep makes the next observations copy up to n bytes of stack, also beyond its usual limit.
func (k *Walks) CopyDeep(n uint64) {
	k.needs.Bytes = int(min(max(n, leastCopy), deepCopy))
	k.handOver()
}

// CopyOther makes the next observations copy around an address on another stack (a signal stack, a stack that grows in
// parts). The newest four are kept.
func (k *Walks) CopyOther(addr frames.Addr) {
	if _, added := k.addOther(addr, 0); added {
		k.needs.Retries++
	}
	k.handOver()
}

// CopyOtherDeep makes the next observations copy n bytes from an address on another stack. An address just beyond such
// a copy extends it.
func (k *Walks) CopyOtherDeep(addr frames.Addr, n uint64) {
	if !k.extendOther(addr, n) {
		k.addOther(addr, min(n, deepCopy))
	}
	k.handOver()
}

// Unproven notes a walk that lacked a register: the next observations stop the sleeper, if allowed and harmless.
func (k *Walks) Unproven(s *RawSample) {
	k.lacksRegister(s)
	k.handOver()
}
