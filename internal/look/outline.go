// SPDX-License-Identifier: Apache-2.0

package look

import (
	"cmp"
	"slices"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/code"
)

// Where frames are large, a walk needs few words of many bytes: those near each frame's outer end. The outline of a
// thread's stack tells where these ends have been in its last walks. It also tells how large the frame is that each
// return address belongs to, and those of each function. A freeze then copies the top of the stack and, in the same
// call of the kernel, a piece at each of those ends. While the thread is still stopped it goes from frame to frame by
// their sizes. It begins in the one that the thread is in, and at each return address that is known. It copies the ends
// that are at new places. Where that does not lead to a frame that was the outermost, it copies all up to where the
// stack has ended, if that is not far. What is left of frames that have ended would mislead it there. Else it copies on
// in small steps, until a return address in what is new leads there. That ends where the stack has ended, or at a frame
// that is where it was. The walk of such a look is not to wait for others, as the next looks would come to the same
// unknown frame.
//
// All this is only a guess of what to copy: the walk finds out what the frames are, and says so if a word is lacking.
const (
	outlineFrom  = 64 << 10 // stacks of which walks read no more are copied in one piece
	topCopy      = 24 << 10
	wholeCopy    = 256 << 10 // where nothing better is known, a stack that is no deeper is copied as a whole
	mostInFull   = 128 << 10 // of a stack in which no known frame leads further, as much is copied beyond the top
	mostBridge   = 5 << 18   // up to here, if a frame that is known comes no earlier
	pieceBelow   = 256       // below the outer end: the return address, the registers saved there, what alignment takes
	pieceAbove   = 8
	endAbove     = 512  // what is copied beyond an end at a new place: frames there may be small
	manyAbove    = 1024 // and where the last frame was
	fewBelow     = 128  // below the outer end of such a frame
	smallFrame   = 2 << 10
	savedBelow   = 64   // of these, what nearly all functions use
	pieceJoins   = 512  // pieces that lie no further apart are one
	maxMarks     = 120  // that are remembered
	maxChain     = 1024 // frames of a walk, or from one place on
	maxPieces    = 32
	pieceBytes   = 12 << 10 // of all pieces together
	markAge      = 256      // walks for which the end of a frame is remembered
	smallFor     = 1000     // walks that read little, after which there is no outline any more
	stepBits     = 11
	maxSteps     = 1 << stepBits / 2
	maxStarts    = 24 // return addresses that are tried as the first one, and lead to another known one
	maxTries     = 400
	maxJoins     = 4        // frames of earlier walks that are tried
	maxSearch    = 1024     // frames that are passed in one stop, those of chains that led nowhere included
	pieceReads   = 48       // at most
	readsKept    = 2        // reads that are left to what is copied in one piece
	maxSteppedTo = 40       // ends at new places
	mostFollowed = 40 << 10 // of ends at new places together: what needs more is copied in one piece
	endBytes     = mostFollowed + pieceBelow + manyAbove
	firstGrowth  = 4 << 10 // of what is copied where frames are unknown
	doubtCopy    = 10 << 10
)

// mark is the outer end of a frame, and the return address below it.
type mark struct {
	at, pc frames.Addr
	seen   uint32 // the walk that last found it
	byCFI  bool   // in that walk, call frame information led to its caller
}

// Outline gathers the frames of one walk. It is for one goroutine, and can be used for many walks.
type Outline struct {
	marks []mark
	byCFI bool // call frame information led to the first caller
}

// Reset begins with the next walk.
func (o *Outline) Reset() { o.marks = o.marks[:0] }

// Add adds the walk's current frame, if its return address lies where all are on x86-64.
func (o *Outline) Add(f *frames.Frame) {
	switch n, byCFI := len(o.marks), f.Method == frames.MethodCFI; n {
	case 0:
		o.byCFI = byCFI
	case maxChain:
	default:
		o.marks[n-1].byCFI = byCFI
	}
	if f.Caller && f.SP != 0 && len(o.marks) < maxChain {
		o.marks = append(o.marks, mark{at: f.SP, pc: f.PC})
	}
}

// step is a return address and the size of its frame: from the stack pointer there to that of the caller.
type step struct{ pc, size frames.Addr }

// Sizes that are none.
const (
	sizeRoot   = ^frames.Addr(0)     // the frame was the outermost
	sizeVaries = ^frames.Addr(0) - 1 // it is not always the same
)

// steps is a hash table of steps, and what functions had these frames; pc 0 is an empty place. One goroutine learns
// while another one asks: what that is told may be of different moments, as it is only a guess.
type steps struct {
	table [1 << stepBits]struct{ pc, size atomic.Uint64 }
	n     int
	// All return addresses lie between these.
	lo, hi atomic.Uint64
	// fns are the functions, told those that were told last. They do not change any more.
	fns  functions
	told atomic.Pointer[functions]
}

var noFunctions functions

// functions gives the functions that were told last.
func (t *steps) functions() *functions {
	if f := t.told.Load(); f != nil {
		return f
	}
	return &noFunctions
}

// maybe reports whether a word may be one of the return addresses, or of a function with large frames: most words of a
// stack are not.
func (t *steps) maybe(v frames.Addr) bool {
	return v >= t.lo.Load() && v <= t.hi.Load() && v != 0 || t.functions().maybeLarge(v)
}

// isLarge reports whether a word may be a return address in a function with large frames.
func (t *steps) isLarge(v frames.Addr) bool { return t.functions().isLarge(v) }

// knowsFunction reports whether the size of the frame at an instruction may be known.
func (t *steps) knowsFunction(pc frames.Addr) bool {
	f := t.functions()
	return f.find(pc) != nil || f.isLarge(pc)
}

// place gives the place of a return address, or the one where it would be.
func (t *steps) place(pc frames.Addr) uint64 {
	i := pc * 0x9e3779b97f4a7c15 >> (64 - stepBits)
	for at := t.table[i].pc.Load(); at != 0 && at != pc; at = t.table[i].pc.Load() {
		i = (i + 1) % uint64(len(t.table))
	}
	return i
}

// find gives the step from a return address; pc and size are 0 if it is not known.
func (t *steps) find(pc frames.Addr) step {
	at := &t.table[t.place(pc)]
	if pc == 0 || at.pc.Load() != pc {
		return step{}
	}
	return step{pc, at.size.Load()}
}

// learn adds a step of a function that begins and ends there, and reports whether it is new. end 0: that is not known.
// When the table is full it begins anew. Functions are told by [steps.tell].
func (t *steps) learn(pc, size, start, end frames.Addr) bool {
	changed := t.fns.learn(pc, size, start, end)
	if pc == 0 {
		return changed
	}
	at := &t.table[t.place(pc)]
	switch {
	case at.pc.Load() == 0:
		if t.n == maxSteps {
			t.clear()
			at = &t.table[t.place(pc)]
		}
		if t.n++; t.n == 1 {
			t.lo.Store(pc)
			t.hi.Store(pc)
		}
		t.lo.Store(min(t.lo.Load(), pc))
		t.hi.Store(max(t.hi.Load(), pc))
		at.size.Store(size)
		at.pc.Store(pc)
		return true
	case at.size.Load() == size || at.size.Load() == sizeVaries:
		return changed
	}
	at.size.Store(sizeVaries)
	return true
}

// clear empties the table.
func (t *steps) clear() {
	for i := range t.table {
		t.table[i].pc.Store(0)
	}
	t.n = 0
}

// tell makes the functions that were learned those that are asked.
func (t *steps) tell() { t.told.Store(t.fns.clone()) }

// outline is what looks copy by. It does not change.
type outline struct {
	marks []mark
	steps *steps
}

// remembered is what a thread's walks have found, lately. It belongs to the goroutine that walks. It is larger than all
// else that is kept of a thread: only threads with large stacks have one.
type remembered struct {
	marks []mark // by rising address
	walks uint32
	steps *steps
	large uint32 // the last walk that read much
	// untold: functions were learned that the looks do not know, since the walk toldAt.
	untold bool
	toldAt uint32
}

// walk is what is learned from.
type walk struct {
	marks    []mark
	mem      *frames.Snapshot
	space    *frames.Space // nil: it is not known where functions begin and end
	complete bool
}

// learn adds a walk, and reports whether a step is new, and whether a frame has ended where none has lately. The last
// frame of a complete walk was the outermost.
func (r *remembered) learn(w *walk) (steps, marks bool) {
	r.walks++
	for i := range w.marks {
		size := sizeRoot
		if i+1 < len(w.marks) {
			size = w.marks[i+1].at - w.marks[i].at
		}
		if w.complete || size != sizeRoot {
			steps = r.learnStep(w, &w.marks[i], size) || steps
		}
	}
	r.untold = r.untold || steps
	return steps, r.learnMarks(w.marks[max(0, len(w.marks)-maxMarks):])
}

// learnStep learns the size of a mark's frame, and reports whether it is new.
func (r *remembered) learnStep(w *walk, m *mark, size frames.Addr) bool {
	if r.steps.find(m.pc).size == size || m.pc == 0 {
		return false
	}
	start, end, changed := frames.Addr(0), frames.Addr(0), false
	if f := r.steps.fns.find(m.pc); f != nil {
		start, end = f.start, f.end
		if f.n > 1 && size < mostCopy {
			changed = f.learnLink(w.mem, m.at, m.at+size)
		}
	} else if w.space != nil && m.byCFI {
		start, end = w.space.FuncRange(m.pc - 1)
	}
	return r.steps.learn(m.pc, size, start, end) || changed
}

// tellAgain is how many walks may be behind before what functions had frames is told, for so many of them.
const tellAgain = 32

// tell tells the looks what functions had these frames, if that is new. It takes a copy of all: so of many, the looks
// are told after some walks, but at once if one of them was lost for it.
func (r *remembered) tell(lost bool) {
	if !r.untold || !lost && r.walks-r.toldAt < uint32(len(r.steps.fns.list)/tellAgain) {
		return
	}
	r.steps.tell()
	r.untold, r.toldAt = false, r.walks
}

// learnInner learns the size of the frame that the thread is in, if that is large, and reports whether it is new.
func (r *remembered) learnInner(space *frames.Space, regs *frames.Regs, end frames.Addr) bool {
	size := end - regs.SP()
	if size < largeFrom || size >= mostCopy || space == nil {
		return false
	}
	start, stop := space.FuncRange(regs.PC)
	if stop == 0 || !r.steps.fns.learn(regs.PC, size, start, stop) {
		return false
	}
	r.untold = true
	return true
}

// learnMarks notes where frames have ended, and reports whether that is new.
func (r *remembered) learnMarks(walk []mark) (changed bool) {
	for _, m := range walk {
		m.seen = r.walks
		i, ok := slices.BinarySearchFunc(r.marks, m.at, func(m mark, at frames.Addr) int { return cmp.Compare(m.at, at) })
		if ok {
			changed = changed || r.marks[i].pc != m.pc
			r.marks[i] = m
			continue
		}
		r.marks, changed = slices.Insert(r.marks, i, m), true
	}
	n := len(r.marks)
	for age := uint32(markAge); age > 0 && (age == markAge || len(r.marks) > maxMarks); age /= 2 {
		r.marks = slices.DeleteFunc(r.marks, func(m mark) bool { return r.walks-m.seen > age })
	}
	return changed || len(r.marks) != n
}

// learnOutline learns a walk's frames, and gives the next looks what they are to copy by. It does so from the first
// walk on that has read more than outlineFrom, or would have, until there was none of these for a long time. A walk
// whose copy was too short tells of its frames, too. Its outline was no help, and the next look copies in one piece.
func (k *Walks) learnOutline(p *code.Process, w *frames.Walker, s *Shot, o *Outline) {
	known, cut := k.needs.outline != nil, w.StopReason() == frames.StopStackCut
	if cut && known {
		k.needs.outline, k.needs.misled = nil, true
		k.needs.Bytes = max(k.needs.Bytes, wholeCopy)
	}
	if !cut && !w.StopReason().Complete() || s.Regs.Arch != frames.X86_64 || len(o.marks) == maxChain {
		return // many frames in a large stack: they are small
	}
	reach := w.Reach()
	if cut && !w.Away() {
		reach = max(reach, w.UnreadAddr())
	}
	if reach-s.Mem.Stack.Addr > outlineFrom {
		if k.remembered == nil {
			k.remembered = &remembered{steps: &steps{}}
		}
		k.remembered.large = k.remembered.walks
	}
	r := k.remembered
	if r == nil {
		return
	}
	if r.walks-r.large > smallFor {
		k.remembered = nil
		k.needs.outline, k.needs.misled = nil, false
		return
	}
	walk := walk{marks: o.marks, mem: &s.Mem, complete: !cut}
	if p != nil {
		walk.space = p.Space()
	}
	newSteps, changed := r.learn(&walk)
	if len(o.marks) > 0 && o.byCFI && r.learnInner(walk.space, &s.Regs, o.marks[0].at) {
		newSteps = true
	}
	if cut {
		changed = !w.Away() && r.lacked(w) || newSteps // with frames of other sizes, not only at other places
		changed = changed && !known
	}
	r.tell(cut || s.lost || !known)
	if changed || !cut && !known {
		k.needs.outline, k.needs.misled = r.give(), false
	}
}

// give makes an outline of what is remembered.
func (r *remembered) give() *outline { return &outline{slices.Clone(r.marks), r.steps} }

// lacked learns from a walk whose copy ended inside of a frame: what it lacked is the return address at the frame's
// outer end. It reports whether that is new.
func (r *remembered) lacked(w *frames.Walker) bool {
	if !r.steps.fns.learnLarge(w.Regs().PC, w.UnreadAddr()+8-w.Reach(), 0, 0) {
		return false
	}
	r.untold = true
	return true
}
