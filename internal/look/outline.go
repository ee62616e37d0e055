package look

import (
	"cmp"
	"slices"

	"prywalk/frames"
)

// Where frames are large, a walk needs few words of many bytes: those near each frame's outer end. The outline of a
// thread's stack tells where these ends have been in its last walks, and how large the frame is that each return
// address belongs to. A freeze then copies the top of the stack and, in the same call of the kernel, a piece at each
// of those ends. While the thread is still stopped it goes from the first return address that is known to the next
// one, by the sizes of the frames. It copies the ends that are at new places. Where that does not lead to a frame
// that was the outermost, it copies all up to where the stack has ended, if that is not far. What is left of frames
// that have ended would mislead it there. Else it copies on in small steps, until a return address in what is new leads
// there. That ends where the stack has ended, or at a frame that is where it was. The walk of such a look is not to
// wait for others, as the next looks would come to the same unknown frame.
//
// All this is only a guess of what to copy: the walk finds out what the frames are, and says so if a word is lacking.
const (
	outlineFrom  = 64 << 10 // stacks of which walks read no more are copied in one piece
	topCopy      = 32 << 10
	wholeCopy    = 256 << 10 // where nothing better is known, a stack that is no deeper is copied as a whole
	mostInFull   = 128 << 10 // of a stack in which no known frame leads further, as much is copied beyond the top
	mostBridge   = 5 << 18   // up to here, if a frame that is known comes no earlier
	pieceBelow   = 256       // below the outer end: the return address, the registers saved there, what alignment takes
	pieceAbove   = 8
	savedBelow   = 64  // of these, what nearly all functions use
	pieceJoins   = 512 // pieces that lie no further apart are one
	maxMarks     = 120
	maxPieces    = 32
	pieceBytes   = 24 << 10 // of all pieces together
	markAge      = 256      // walks for which the end of a frame is remembered
	smallFor     = 1000     // walks that read little, after which there is no outline any more
	stepBits     = 11
	maxSteps     = 1 << stepBits / 2
	maxStarts    = 24 // return addresses that are tried as the first one, and lead to another known one
	maxTries     = 400
	maxJoins     = 4  // frames of earlier walks that are tried
	pieceReads   = 64 // at most
	readsKept    = 2  // reads that are left to what is copied in one piece
	maxSteppedTo = 20 // ends at new places
	endBytes     = maxSteppedTo * (pieceBelow + pieceAbove)
	firstGrowth  = 4 << 10 // of what is copied where frames are unknown
)

// mark is the outer end of a frame, and the return address below it.
type mark struct {
	at, pc frames.Addr
	seen   uint32 // the walk that last found it
}

// Outline gathers the frames of one walk. It is for one goroutine, and can be used for many walks.
type Outline struct{ marks []mark }

// Reset begins with the next walk.
func (o *Outline) Reset() { o.marks = o.marks[:0] }

// Add adds the walk's current frame, if its return address lies where all are on x86-64.
func (o *Outline) Add(f *frames.Frame) {
	if f.Caller && f.SP != 0 && len(o.marks) < maxMarks {
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

// steps is a hash table of steps; pc 0 is an empty place.
type steps struct {
	table [1 << stepBits]step
	n     int
	large largeSteps
	// All return addresses lie between these.
	lo, hi frames.Addr
}

// maybe reports whether a word may be one of the return addresses, or near a large one: most words of a stack are not.
func (t *steps) maybe(v frames.Addr) bool {
	return v >= t.lo && v <= t.hi && v != 0 || v+nearBytes >= t.large.lo && v <= t.large.hi+nearBytes && t.large.n > 0
}

// find gives the place of a return address, or the one where it would be.
func (t *steps) find(pc frames.Addr) *step {
	i := pc * 0x9e3779b97f4a7c15 >> (64 - stepBits)
	for t.table[i].pc != 0 && t.table[i].pc != pc {
		i = (i + 1) % uint64(len(t.table))
	}
	return &t.table[i]
}

// learn adds a step, and reports whether it is new. When the table is full it begins anew.
func (t *steps) learn(pc, size frames.Addr) bool {
	p, changed := t.find(pc), t.large.learn(pc, size)
	switch {
	case p.pc == 0:
		if t.n == maxSteps {
			*t = steps{large: t.large}
			p = t.find(pc)
		}
		t.n++
		if t.n == 1 {
			t.lo, t.hi = pc, pc
		}
		t.lo, t.hi = min(t.lo, pc), max(t.hi, pc)
		*p = step{pc, size}
	case p.size == size || p.size == sizeVaries:
		return changed
	default:
		p.size = sizeVaries
	}
	return true
}

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
	steps steps
	given *steps // what of them looks have; nil: there are newer ones
	large uint32 // the last walk that read much
}

// learn adds a walk, and reports whether anything is new. The last frame of a complete one was the outermost.
func (r *remembered) learn(walk []mark, complete bool) (changed bool) {
	r.walks++
	for i, m := range walk {
		m.seen = r.walks
		size := sizeRoot
		if i+1 < len(walk) {
			size = walk[i+1].at - m.at
		}
		if (complete || size != sizeRoot) && r.steps.learn(m.pc, size) {
			changed, r.given = true, nil
		}
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
func (k *Walks) learnOutline(w *frames.Walker, s *Shot, o *Outline) {
	known, cut := k.needs.outline != nil, w.StopReason() == frames.StopStackCut
	if cut && known {
		k.needs.outline, k.needs.misled = nil, true
		k.needs.Bytes = max(k.needs.Bytes, wholeCopy)
	}
	if !cut && !w.StopReason().Complete() || s.Regs.Arch != frames.X86_64 || len(o.marks) == maxMarks {
		return // many frames in a large stack: they are small
	}
	reach := w.Reach()
	if cut && !w.Away() {
		reach = max(reach, w.UnreadAddr())
	}
	if reach-s.Mem.Stack.Addr > outlineFrom {
		if k.remembered == nil {
			k.remembered = &remembered{}
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
	changed := r.learn(o.marks, !cut)
	if cut {
		if !w.Away() {
			r.lacked(w)
		}
		changed = r.given == nil && !known // with frames of other sizes, not only at other places
	}
	if changed || !cut && !known {
		k.needs.outline, k.needs.misled = r.give(), false
	}
}

// give makes an outline of what is remembered.
func (r *remembered) give() *outline {
	if r.given == nil {
		given := r.steps
		r.given = &given
	}
	return &outline{slices.Clone(r.marks), r.given}
}

// lacked learns from a walk whose copy ended inside of a frame: what it lacked is the return address at the frame's
// outer end.
func (r *remembered) lacked(w *frames.Walker) {
	if r.steps.large.learn(w.Regs().PC, w.UnreadAddr()+8-w.Reach()) {
		r.given = nil
	}
}
