// SPDX-License-Identifier: Apache-2.0

package look

import (
	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/samestack"
)

// Walks is what the walks of a thread's shots have found so far. It belongs to the goroutine that walks, and each
// method hands the looks what they need by now.
type Walks struct {
	needs      Needs
	box        *tripleBuffer
	thread     *Thread     // of which only the numbers are used
	topless    bool        // what Top said was wrong, as far as is known
	doubted    frames.Addr // Top, when a walk lacked what lies beyond
	doubts     int
	walked     uint
	next       int         // of Others: the one that is given up for a further one
	remembered *remembered // nil: no walk has read much, lately
	deepFor    int         // how many freezes in turn had to find the stack shallow the last time that Needs.Deep was set
	deepLeft   int         // how many are left
	deepOver   int         // deeper than so many bytes is not shallow
	untouched  int         // deepFor of copies that ended early, at a page that was not there
	// shallowFirst is deepFor for the first time; 0: deepLeast.
	shallowFirst int
	othersFor    int             // how many walks elsewhere a place of Needs.Others lasts
	othersLeft   [mostOthers]int // how many are left to each; 0: it lasts
	gaveUp       bool            // one was given up, and none was lacked since
}

// Walked tells what a walk of a shot has read and what it lacked, so that the next look copies that. It copies the
// stack that the look was at as far as the walk came there, and what the walk lacked of others. It is told at the end
// of the walk, with the mappings as they were then. o has the walk's frames; nil if not all are known.
func (k *Walks) Walked(p *code.Process, w *frames.Walker, s *Shot, o *Outline) {
	stop, from := w.StopReason(), s.Mem.Stack.Addr
	k.needs.Incomplete = !stop.Complete() && stop != frames.StopUnproven && stop != frames.StopDepth
	if s.short && !stop.Complete() {
		return // that was for want of time, and says nothing of what is needed
	}
	cut := stop == frames.StopStackCut
	beyond := cut && w.Searched() && k.hasAll(s)
	cut = cut && !beyond // it looked for a return address beyond the stack's end, where none is
	if s.How == ByFreeze {
		k.frozenDeep(depth(w, s))
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
			used, cut = max(used, w.UnreadAddr()-from), false // what lacks is between the pieces, or a little beyond
			k.needs.Retries++
		}
		k.used(int(used)+16, max(len(s.buf), leastCopy), cut && s.How != BySample, s.toTop)
	}
	if stop.Complete() && s.endsBeforeTop(reach) && reach-from < leastCopy {
		k.needs.Changing = true // the end that was known is that of another stack
	}
	if cut && s.How == BySample {
		k.lacksStack(s)
	}
	if o != nil && !beyond {
		k.learnOutline(p, w, s, o)
	}
	k.needs.Unproven = 0
	if stop == frames.StopUnproven {
		k.lacksRegister(s)
	}
	k.handOver()
}

// depth gives how many bytes of the stack a walk has used; 0 if it has ended elsewhere.
func depth(w *frames.Walker, s *Shot) int {
	from, reach := s.Mem.Stack.Addr, w.Reach()
	if w.Away() || reach < from || reach > s.Mem.StackEnd {
		return 0
	}
	return int(reach - from)
}

// ended takes note of where a walk has ended.
func (k *Walks) ended(w *frames.Walker, s *Shot) {
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

// Sleeps tells what the walk of a shot depends on, before [Walks.Walked]; nil: it is not known, or not wanted.
func (k *Walks) Sleeps(s *Shot, w *samestack.Words) { k.needs.Sleep, k.needs.SleepAt = w, s.At }

// Sleep gives what was told last.
func (k *Walks) Sleep() *samestack.Words { return k.needs.Sleep }

// hasAll reports whether a copy has the stack up to where it has ended before.
func (k *Walks) hasAll(s *Shot) bool {
	from, root := s.Mem.Stack.Addr, k.needs.Root
	return !k.needs.Changing && root > from && root-from <= uint64(len(s.Mem.Stack.Bytes))
}

// toEnd gives how much a copy would have that reaches the end of the stack, 0 if that is not known or far. Where one
// large frame was not foreseen, others may follow.
func (k *Walks) toEnd(s *Shot) uint64 {
	from, end := s.Mem.Stack.Addr, k.needs.Root
	if end <= from || k.needs.Changing {
		end = s.Mem.StackEnd
	}
	if n := end - from; end > from && n <= mostBridge {
		return n
	}
	return 0
}

// lacksStack takes note of a sample of the kernel's whose stack was too short: the thread is to be frozen.
func (k *Walks) lacksStack(s *Shot) {
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

// used takes note of how many bytes of stack a walk used, and how many its look would have copied. cut: the copy was
// too short for it. toTop: it went up to Top. So the next look copies as much as is needed and not more. Where several
// looks that were too short are walked together, all of them ask for the same.
func (k *Walks) used(used, had int, cut, toTop bool) {
	old := k.needs.Bytes
	want := used + copyMargin
	switch {
	case cut && toTop && k.needs.Top != 0:
		k.doubted, k.needs.Top, k.topless = k.needs.Top, 0, true
		k.doubts++
		want = max(old, want) // that was what cut it, not this
	case cut:
		want = max(old, 4*had, want)
	case want < old:
		want = old - (old-want)/8 // shrink slowly: depth varies
	}
	k.needs.Bytes = min(max(want, leastCopy), mostCopy)
	if k.needs.Used -= (k.needs.Used - used) / 8; used > k.needs.Used {
		k.needs.Used = used
	}
	if cut && old < mostCopy {
		k.needs.Retries++
	}
}

// endedAt takes note of where a complete walk ended: the next looks copy no more than up to there and
// a little. It makes copies small where other things follow the stack in memory, as those of
// goroutines. If a copy turns out too short that ended there, it is believed again only when a complete walk has
// ended there once more. What lacked was no part of the stack then. That is not done any number of times.
func (k *Walks) endedAt(addr uint64) {
	top := addr + copyMargin
	if k.topless && top == k.doubted && k.doubts <= mostDoubts {
		k.topless = false
	}
	if !k.topless {
		k.needs.Top = top
	}
}

// mostToEnd is how many walks of a thread may fail before its looks copy no more than others.
const mostToEnd = 8

// mostDoubts is how often Top is believed again.
const mostDoubts = 16

// # For single looks

// CopyUpTo makes the next looks copy that many bytes of stack, as far as there are
// as many, within the usual limit of a stack.
func (k *Walks) CopyUpTo(n int) {
	k.needs.Bytes = min(max(n, leastCopy), mostCopy)
	k.handOver()
}

// CopyDeep makes the next looks copy that many bytes of stack, also more than the usual limit of a stack. It is for a
// single look at a stack that is known to be deeper.
func (k *Walks) CopyDeep(n uint64) {
	k.needs.Bytes = int(min(max(n, leastCopy), deepCopy))
	k.handOver()
}

// CopyOther asks the next looks to copy the memory around an address besides the stack and what was asked for before.
// A walk was led there that changed stacks (a signal handler on a stack of its own, a stack that grows in parts). Of
// more than four such places the oldest are given up.
func (k *Walks) CopyOther(addr frames.Addr) {
	if _, added := k.addOther(addr, 0); added {
		k.needs.Retries++
	}
	k.handOver()
}

// CopyOtherDeep makes the next looks copy n bytes from the address on, where [Walks.CopyOther] copies few. It is for
// a single look at a stack that is deep beyond a change of stacks. An address just beyond what such a look has copied
// makes that copy longer.
func (k *Walks) CopyOtherDeep(addr frames.Addr, n uint64) {
	if !k.extendOther(addr, n) {
		k.addOther(addr, min(n, deepCopy))
	}
	k.handOver()
}

// Unproven tells that a walk of a shot lacked a register. The thread is frozen in its sleep at the next look, and in
// later ones in the same place, where that is allowed and does not harm.
func (k *Walks) Unproven(s *Shot) {
	k.lacksRegister(s)
	k.handOver()
}
