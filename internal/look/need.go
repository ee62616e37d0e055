package look

import (
	"prywalk/frames"
	"prywalk/internal/code"
)

// Sizes of the copy of a stack, in bytes.
const (
	firstCopy = 64 << 10 // of a thread that was never walked
	leastCopy = 64 << 10
	mostCopy  = 8 << 20   // the usual limit of a stack (RLIMIT_STACK)
	deepCopy  = 256 << 20 // where a deeper one is asked for
	copySlack = 2 << 10   // beyond what the last walks needed
)

// Walked tells the thread what a walk of its shot has read and what it lacked, so that the next look copies that: of the
// stack that the look was at as far as the walk came there, and what it lacked of others. It is told at the end of the
// walk, with the mappings as they were then. o has the walk's frames; nil if not all are known. One goroutine at a time
// may call it.
func (t *Thread) Walked(p *code.Process, w *frames.Walker, s *Shot, o *Outline) {
	stop, from := w.StopReason(), s.Mem.Stack.Addr
	if s.short && !stop.Complete() {
		return // that was for want of time, and says nothing of what is needed
	}
	cut := stop == frames.StopStackCut
	if cut && w.Away() || stop == frames.StopBadMemory && p.StackEnd(w.Lacking()) != 0 {
		t.Also(w.Lacking())
		cut = false
	}
	reach := w.Reach()
	if stop.Complete() && (w.Away() || w.Frame().SP != 0) {
		t.Root(reach)
	}
	if stop.Complete() && reach-from < uint64(len(s.Mem.Stack.Bytes)) {
		t.Top(reach)
	}
	if used := reach - from; used <= s.Mem.StackEnd-from {
		if cut && s.pieced {
			used, cut = max(used, w.Lacking()-from), false // what lacks is between the pieces, or a little beyond
			t.again.Store(true)
		}
		t.Needed(int(used)+16, len(s.buf), cut)
	}
	if o != nil {
		t.outline(w, s, o)
	}
	if stop == frames.StopUnproven {
		t.Unproven(s)
	}
}

// Needed tells how many bytes of stack a walk used, how many its look would have copied, and whether the copy was too
// short for it, so that the next look copies as much as is needed and not more: where several looks that were too short
// are walked together, all of them ask for the same. A shot that was too short is not reused, or a thread that sleeps
// would show it for as long as it sleeps. Any goroutine may call it.
func (t *Thread) Needed(used, had int, cut bool) {
	old := t.need.Load()
	want := int64(used) + copySlack
	switch {
	case cut && t.top.Swap(0) != 0:
		t.topless.Store(true)
		want = max(old, want) // that was what cut it, not this
	case cut:
		want = max(old, 4*int64(had), want)
	case want < old:
		want = old - (old-want)/8 // shrink slowly: depth varies
	}
	t.need.Store(min(max(want, leastCopy), mostCopy))
	if cut && old < mostCopy {
		t.again.Store(true)
	}
}

// Top tells where a complete walk ended: the next looks copy no more than up to there and
// a little. It makes copies small where other things follow the stack in memory, as those of
// goroutines. If a copy turns out too short that ended there, it is not believed again.
// Any goroutine may call it.
func (t *Thread) Top(addr uint64) {
	if !t.topless.Load() {
		t.top.Store(addr + copySlack)
	}
}

// Also asks the next looks to copy the memory around an address besides the stack and what was asked for before:
// where a walk was led that changed stacks (a signal handler on a stack of its own, a stack that grows in parts).
// Of more than four such places the oldest are given up. A shot that lacked one of the first four is not reused, or a
// thread that sleeps would show it for as long as it sleeps. Any goroutine may call it.
func (t *Thread) Also(addr uint64) {
	if t.also.add(addr, 0) {
		t.again.Store(true)
	}
}

// Need gives how many bytes of its stack the thread's next look copies, if there are as many.
func (t *Thread) Need() int { return int(t.need.Load()) }
