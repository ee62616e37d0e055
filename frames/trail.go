package frames

import "math"

// # Trails
//
// One step of a walk is a function of a few things: the rule of the frame's program
// counter, the register that the CFA is relative to, and the words of memory that the rule
// reads. A [Trail] remembers the steps of a thread's last walk, with those words. Where the
// next walk comes to a frame of the trail, in the same state, and every word that was read
// from there outward is still the same, the rest of the old walk is the rest of the new
// one: it is not walked but skipped, and the walker goes on at its outermost frame, with
// the registers that the steps would have left there. What ends a walk is always found by
// the walker itself, never taken from a trail.
//
// Two states are the same if program counter, stack pointer and kind of address are, and
// the frame pointer as well where a step further out needs it before a frame has restored
// it. No other register has a say, as only steps by such rules are kept (see plan). After
// any other step (an expression, a signal frame, a change of stacks, a scan, a proof) the
// trail begins anew, so that it only has what is further out than the last of these.
//
// The stack pointer rises with every step that is kept. So frames are found by it, and a
// frame that is not on the trail costs one comparison. Words are compared outermost first,
// each at most once in a walk: what changes is mostly further in.
//
// A trail holds for one [Space] until that drops its rules.

const (
	// minSkip is how many frames there must be to skip: one is walked in the same time.
	minSkip = 2
	// maxTrail bounds the frames of a trail; a deeper stack leaves none. With three words
	// for each frame the trail then takes 12 MB, and what the Walker gathers them in 16.
	maxTrail = 1 << 17
	// minBeyond: a trail is begun anew when more than one in so many frames of a walk lay
	// beyond its end, where it cannot grow.
	minBeyond = 4
)

// Trail remembers the last walk of one thread, and lets the next one skip the outer part
// of the stack where nothing has changed:
//
//	for t.Init(&w, space, &regs, snapshot); t.Next(); {
//		use(w.Frame())
//		if t.Join() {
//			useAgain(t.Skipped())
//		}
//	}
//	why := w.StopReason()
//
// Frames, stop reason and registers are those of a walk without it. The zero value is an
// empty trail. It allocates only as stacks get deeper. It is not safe for use by several
// goroutines at once.
type Trail struct {
	w       *Walker // nil when no walk is under way
	space   *Space
	version uint64
	pacMask uint64
	top     Addr // the stack pointer of the outermost frame

	// The trail, outermost frame first. Those before first were not part of the last
	// walk; frame i of the others was number origin−i of it.
	frames  []trailFrame
	words   trailWords
	first   int
	origin  int
	methods [NumMethods]int // how the frames from first on were found

	fresh   *freshSteps // what this walk has gathered
	tooDeep bool

	next   int   // the innermost frame that this walk may still come to
	nextSP Addr  // its stack pointer; the largest number if there is none
	spReg  uint8 // the architecture's registers
	fpReg  uint8
	part   comparison
	joined int // the frame where this walk came to the trail, −1: not yet
	number int // its number in this walk
	skip   Skipped
}

// Skipped tells which frames were skipped.
type Skipped struct {
	// From and N: the frames between the one before Join and what Next gives after it are
	// those that had the numbers From to From+N−1 in the last walk of this Trail that came
	// to its end. The innermost frame is number 0. N is 0 if none were skipped.
	From, N int
	// Methods counts them by how they were found.
	Methods [NumMethods]int
}

// Reset forgets the last walk, but keeps the room that it took.
func (t *Trail) Reset() {
	t.frames = t.frames[:0]
	t.words.cut(0)
	t.first, t.origin = 0, 0
	clear(t.methods[:])
}

// Len gives the number of frames that the trail has.
func (t *Trail) Len() int { return len(t.frames) }

// Size gives about how much memory the trail takes, in bytes.
func (t *Trail) Size() int {
	const frame, word = 48, 8 + 4 + 1
	return frame*cap(t.frames) + word*cap(t.words.val)
}

// Init starts a walk as [Walker.Init] does. The Walker may be another one each time; until
// the walk has ended only Next and Join may move it.
func (t *Trail) Init(w *Walker, space *Space, regs *Regs, mem *Snapshot) {
	w.Init(space, regs, mem)
	if t.space != space || t.version != space.version || t.pacMask != regs.PACMask {
		t.Reset()
	}
	t.w, t.space, t.version, t.pacMask = w, space, space.version, regs.PACMask
	t.fresh = &w.fresh
	t.spReg, t.fpReg = regs.Arch.SP(), regs.Arch.FP()
	t.dropFresh()
	t.tooDeep = false
	t.part = comparison{}
	t.joined = -1
	t.skip = Skipped{}
	t.expect(len(t.frames) - 1)
}

// expect says which frame of the trail the walk may come to next.
func (t *Trail) expect(i int) {
	t.next, t.nextSP = i, math.MaxUint64
	if i >= t.first+minSkip {
		t.nextSP = t.frames[i].sp
	}
}

// Next goes on to the next frame as [Walker.Next] does.
func (t *Trail) Next() bool {
	w := t.w
	if w == nil {
		return false
	}
	var p plan
	gather := t.joined < 0 && !t.tooDeep
	if gather {
		t.plan(&p)
	}
	if !w.Next() {
		t.dropPlanned(&p)
		t.finish()
		return false
	}
	if gather {
		t.note(&p)
	}
	return true
}

// Join skips the frames further out than the current one, if the trail has them and
// nothing has changed there. The walker then is at the last of them; see [Trail.Skipped].
// Precondition: the last call of Next gave true.
func (t *Trail) Join() bool {
	return t.w.regs.Val[t.spReg%NumRegs] >= t.nextSP && t.join()
}

// Skipped tells what Join has skipped in this walk.
func (t *Trail) Skipped() Skipped { return t.skip }

// finish makes this walk the trail, when it has ended.
func (t *Trail) finish() {
	w := t.w
	t.w, t.part.bytes = nil, nil
	n := w.depth - 1 // Next has counted one that there is not
	switch {
	case t.joined < 0:
		t.Reset()
		t.addLast(w, n-1)
	case (n-1-t.number-t.skip.N)*minBeyond > n:
		t.Reset()
		t.dropFresh()
	default:
		t.keepJoined()
	}
	t.store()
	if t.tooDeep || t.space.version != t.version {
		t.Reset()
	}
}

// keepJoined leaves of the trail the frame that this walk came to and what is further out.
func (t *Trail) keepJoined() {
	if inner := t.joined + 1; inner < len(t.frames) {
		t.words.cut(int(t.frames[inner].words))
		t.frames = t.frames[:inner]
	}
	t.first = t.joined - t.skip.N
	t.origin = t.number + t.joined
	t.methods = t.skip.Methods
	t.methods[t.frames[t.joined].method]++
}
