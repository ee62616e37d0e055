package look

import (
	"cmp"
	"slices"

	"prywalk/frames"
	"prywalk/ptrace"
)

// Where frames are large, a walk needs few words of many bytes: those near each frame's outer end. The outline of a
// thread's stack tells where these ends have been in its last walks, and how large the frame is that each return
// address belongs to. A freeze then copies the top of the stack and, in the same call of the kernel, a piece at each
// of those ends. While the thread is still stopped it goes from the first return address that is known to the next
// one, by the sizes of the frames. It copies the ends that are at new places. Where that does not lead to a frame
// that was the outermost, it copies as much as lies below a frame that is where it was and from which the outermost
// can be reached. Without such a one it copies as much as without an outline.
//
// All this is only a guess of what to copy: the walk finds out what the frames are, and says so if a word is lacking.
const (
	outlineFrom  = 64 << 10 // stacks of which walks read no more are copied in one piece
	topCopy      = 32 << 10
	pieceBelow   = 256 // below the outer end: the return address, the registers saved there, what alignment takes
	pieceAbove   = 8
	pieceJoins   = 512 // pieces that lie no further apart are one
	maxMarks     = 120
	maxPieces    = 32
	pieceBytes   = 24 << 10 // of all pieces together
	markAge      = 256      // walks for which the end of a frame is remembered
	smallFor     = 1000     // walks that read little, after which there is no outline any more
	stepBits     = 10
	maxSteps     = 1 << stepBits / 2
	maxStarts    = 24 // return addresses that are tried as the first one
	maxJoins     = 4  // frames of earlier walks that are tried
	readsKept    = 2  // reads that are left to what is copied in one piece
	maxSteppedTo = 20 // ends at new places
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
	p := t.find(pc)
	switch {
	case p.pc == 0:
		if t.n == maxSteps {
			*t = steps{}
			p = t.find(pc)
		}
		t.n++
		*p = step{pc, size}
	case p.size == size || p.size == sizeVaries:
		return false
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

// remembered is what a thread's walks have found, lately. It belongs to the goroutine that walks.
type remembered struct {
	marks []mark // by rising address
	walks uint32
	steps steps
	given *steps // what of them looks have; nil: there are newer ones
	large uint32 // the last walk that read much
	any   bool   // there was one
}

// learn adds a walk, and reports whether anything is new.
func (r *remembered) learn(walk []mark) (changed bool) {
	r.walks++
	for i, m := range walk {
		m.seen = r.walks
		size := sizeRoot
		if i+1 < len(walk) {
			size = walk[i+1].at - m.at
		}
		if r.steps.learn(m.pc, size) {
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
// walk on that has read more than outlineFrom, until there was none of these for a long time.
func (k *Walks) learnOutline(w *frames.Walker, s *Shot, o *Outline) {
	r, known := &k.remembered, k.needs.outline != nil
	if w.StopReason() == frames.StopStackCut && known {
		k.needs.outline = nil
	}
	if !w.StopReason().Complete() || s.Regs.Arch != frames.X86_64 || len(o.marks) == maxMarks {
		return // many frames in a large stack: they are small
	}
	if w.Reach()-s.Mem.Stack.Addr > outlineFrom {
		r.large = r.walks
		r.any = true
	}
	switch {
	case !r.any:
	case r.walks-r.large > smallFor:
		*r = remembered{}
		k.needs.outline = nil
	case r.learn(o.marks) || !known:
		if r.given == nil {
			given := r.steps
			r.given = &given
		}
		k.needs.outline = &outline{slices.Clone(r.marks), r.given}
	}
}

// pieces copies by an outline, besides what another Extra copies.
type pieces struct {
	inner ptrace.Extra
	by    *outline
	need  int // how much of the stack is copied where the outline does not help

	places [ptrace.MaxForeseen]frames.Region
	first  int // of places, those before are inner's
	n      int
	top    []byte // the copy of the top
	buf    []byte
	gap    []byte
	rest   []byte // the part of gap that is not in use
}

// reserve makes room for the next look, before anybody is stopped.
func (p *pieces) reserve(need int) {
	if p.buf == nil {
		p.buf = make([]byte, pieceBytes)
		touch(p.buf)
	}
	if len(p.gap) < need {
		p.gap = make([]byte, need)
		touch(p.gap)
	}
}

// Foresee implements [ptrace.Foreseer].
func (p *pieces) Foresee(regs *frames.Regs) []frames.Region {
	p.first, p.n = 0, 0
	if f, ok := p.inner.(ptrace.Foreseer); ok {
		p.first = copy(p.places[:], f.Foresee(regs))
	}
	p.n = p.first
	beyond, buf := regs.SP()-redZone+uint64(len(p.top)), p.buf
	for i := range p.by.marks {
		at := p.by.marks[i].at
		if at <= beyond {
			continue
		}
		from, end := max(at-pieceBelow, beyond), at+pieceAbove
		last := &p.places[max(p.n-1, 0)]
		if joined := last.Addr + uint64(len(last.Bytes)); p.n > p.first && from <= joined+pieceJoins {
			more := end - joined
			if uint64(len(buf)) < more {
				break
			}
			last.Bytes, buf = last.Bytes[:uint64(len(last.Bytes))+more], buf[more:]
			continue
		}
		if p.n == p.first+maxPieces || uint64(len(buf)) < end-from {
			break
		}
		p.places[p.n] = frames.Region{Addr: from, Bytes: buf[:end-from]}
		p.n, buf = p.n+1, buf[end-from:]
	}
	return p.places[:p.n]
}

// StackEnd implements [ptrace.StackEnder].
func (p *pieces) StackEnd(regs *frames.Regs) uint64 { return stackEnd(p.inner, regs) }

// Reads implements [ptrace.ManyReads].
func (p *pieces) Reads() int { return readsOf(p.inner) }

// Regions implements [ptrace.Extra].
func (p *pieces) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := 0
	if p.inner != nil {
		n = p.inner.Regions(regs, rd, out)
	}
	from, copied := rd.Stack()
	if rd.Foreseen() {
		n += copy(out[n:], p.places[p.first:p.n])
	}
	if copied < len(p.top) {
		return n // the stack ends
	}
	have := frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: p.top}, Others: out[:n]}
	if !p.follow(rd, &have, out) {
		have.Others = out[:n]
		p.bridge(rd, &have, out)
	}
	return len(have.Others)
}

// bridge copies in one piece what follows the copy of the top: up to a frame that is where it was in an earlier walk,
// and from which the outermost can be reached; else as much as the last walks needed.
func (p *pieces) bridge(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region) {
	from, first := have.Stack.Addr+uint64(len(have.Stack.Bytes)), len(have.Others)
	size := uint64(max(min(p.need, len(p.gap))-len(have.Stack.Bytes), 0))
	p.rest = p.gap
	for i, tries := 0, 0; i < len(p.by.marks) && tries < maxJoins; i++ {
		m := &p.by.marks[i]
		if v, ok := have.Word(m.at - 8); m.at <= from || !ok || v != m.pc {
			continue
		}
		have.Others = out[:first]
		if tries++; p.chain(rd, have, out, m.pc, m.at) {
			size = min(size, m.at-from)
			break
		}
		have.Others, p.rest = out[:first], p.gap
	}
	n := len(have.Others)
	if size = min(size, uint64(len(p.rest))); size == 0 || n == len(out) {
		return
	}
	got := rd.Read(from, p.rest[:size])
	out[n] = frames.Region{Addr: from, Bytes: p.rest[:got]}
	have.Others = out[:n+1]
}

// follow goes from frame to frame, and copies what of their outer ends was not copied; false if that does not lead to
// an outermost frame.
func (p *pieces) follow(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region) bool {
	n, top := len(have.Others), have.Stack.Addr+uint64(len(have.Stack.Bytes))
	for at, starts := have.Stack.Addr+redZone, 0; at < top && starts < maxStarts; at += 8 {
		v, _ := have.Word(at)
		if p.by.steps.find(v).pc == 0 || v == 0 {
			continue
		}
		have.Others = out[:n]
		if starts++; p.chain(rd, have, out, v, at+8) {
			return true
		}
	}
	return false
}

// chain is follow from one return address and the stack pointer behind it.
func (p *pieces) chain(rd *ptrace.Reader, have *frames.Snapshot, out []frames.Region, pc, sp frames.Addr) bool {
	p.rest = p.gap
	for range maxMarks {
		size := p.by.steps.find(pc).size
		switch {
		case size == sizeRoot:
			return true
		case size == 0 || size >= mostCopy: // none, or not the same each time
			return false
		}
		sp += size
		v, ok := have.Word(sp - 8)
		if n := len(have.Others); !ok {
			if n == len(out) || len(p.rest) < pieceBelow+pieceAbove || rd.Left() <= readsKept {
				return false
			}
			b := p.rest[:pieceBelow+pieceAbove]
			if rd.Read(sp-pieceBelow, b) != len(b) {
				return false
			}
			out[n], p.rest = frames.Region{Addr: sp - pieceBelow, Bytes: b}, p.rest[len(b):]
			have.Others = out[:n+1]
			v, _ = have.Word(sp - 8)
		}
		pc = v
	}
	return false
}
