package frames

// DefaultMaxDepth is the number of frames after which a walk gives up when its
// caller sets no limit.
const DefaultMaxDepth = 1024

// maxSwitches bounds the changes from one stack to another in one walk, where
// the rising stack pointer does not prove that the walk ends.
const maxSwitches = 64

// Walker gives the frames of one stack, innermost first:
//
//	w.Init(space, &regs, mem)
//	for w.Next() {
//		use(w.Frame())
//	}
//	why := w.StopReason()
//
// It allocates nothing, can start at any register set, and can be left at any
// depth. The zero value is ready for Init, and can be used again.
type Walker struct {
	// MaxDepth limits the number of frames; 0 means DefaultMaxDepth, a
	// negative number no limit.
	MaxDepth int

	space    *Space
	mem      Memory
	regs     Regs
	next     Regs   // the caller's registers, while they are computed
	cur      *entry // a slot of the cache: valid while its key is w.key
	key      uint64
	caller   bool // regs.PC is a return address
	lacking  Addr
	snap     *Snapshot // mem, if it is one
	frame    Frame
	depth    int
	switches int
	stop     StopReason
}

// Init starts a walk at regs, which is copied. The walk reads space and mem until
// it ends; neither may change meanwhile.
func (w *Walker) Init(space *Space, regs *Regs, mem Memory) {
	w.space, w.mem, w.regs = space, mem, *regs
	w.snap, _ = mem.(*Snapshot)
	w.depth, w.switches, w.stop = 0, 0, StopNone
	w.enter(MethodContext, false)
}

// Next goes on to the next frame; the first call gives the innermost. It returns
// false when the walk has ended, and StopReason then says why.
func (w *Walker) Next() bool {
	if w.stop != StopNone {
		return false
	}
	w.depth++
	if w.depth == 1 {
		return true
	}
	if w.cur.key != w.key { // another walk has used the slot meanwhile
		w.cur = w.space.lookup(w.regs.PC, w.caller, false)
	}
	if w.depth > w.limit() && w.cur.rule.Flags&FlagRoot == 0 {
		w.stop = StopDepth
		return false
	}
	if w.quick() {
		return true
	}
	w.stop = w.step()
	return w.stop == StopNone
}

// Frame gives the frame that the last call of Next found.
func (w *Walker) Frame() Frame { return w.frame }

// Regs gives the registers of that frame, as far as they are known. They change
// with the next call of Next.
func (w *Walker) Regs() *Regs { return &w.regs }

// Lacking gives the address that the walk could not read, after it has stopped with
// StopStackCut or StopBadMemory.
func (w *Walker) Lacking() Addr { return w.lacking }

// StopReason says why the walk ended, StopNone while it has not.
func (w *Walker) StopReason() StopReason { return w.stop }

func (w *Walker) limit() int {
	switch {
	case w.MaxDepth == 0:
		return DefaultMaxDepth
	case w.MaxDepth < 0:
		return int(^uint(0) >> 1)
	}
	return w.MaxDepth
}

// enter makes w.regs the current frame and looks its rule up.
func (w *Walker) enter(m Method, caller bool) {
	w.cur = w.space.lookup(w.regs.PC, caller, false)
	w.key = w.cur.key
	w.caller = caller
	// Nobody calls a signal trampoline: its pc is where it begins, and the byte
	// before it belongs to something else.
	w.frame = Frame{PC: w.regs.PC, SP: w.regs.SP(), Module: w.cur.mod, Method: m,
		Caller: caller && w.cur.rule.Flags&FlagSignal == 0}
}

// step replaces the registers with the caller's.
func (w *Walker) step() StopReason {
	r := w.cur.rule
	if r.Flags&FlagNone == 0 && !w.canApply(&r) {
		e := w.space.lookup(w.regs.PC, w.caller, true)
		if e.rule.Flags&FlagNone != 0 {
			return StopUnproven
		}
		r = e.rule
	}
	if r.Flags&FlagRoot != 0 {
		return StopRoot
	}
	if r.Flags&FlagNone != 0 {
		return w.scan()
	}
	stop := w.apply(&r)
	if stop == StopNone && r.Method != MethodCFI && !w.plausible() {
		return w.scan()
	}
	if stop != StopNone {
		return stop
	}
	return w.commit(&r)
}

// canApply reports whether the register that the CFA is relative to is known.
func (w *Walker) canApply(r *Rule) bool {
	if r.Flags&FlagRow != 0 && w.space.rows[r.row()].CFAExpr != nil {
		return true
	}
	return r.Flags&FlagRoot != 0 || w.regs.Known&(1<<(r.CFAReg%NumRegs)) != 0
}

// plausible checks a caller that was found without call frame information: its
// return address must follow a call, or both must be in generated code.
func (w *Walker) plausible() bool {
	if w.next.PC == 0 {
		return true
	}
	_, ok := w.space.callBefore(w.next.PC)
	return ok || w.generated(w.next.PC)
}

// commit takes the computed registers as the next frame, if the walk gets
// further out with them.
func (w *Walker) commit(r *Rule) StopReason {
	if w.next.PC == 0 {
		return StopRoot
	}
	sp, old := w.next.SP(), w.regs.SP()
	switch {
	case r.Flags&(FlagSignal|FlagSwitch) != 0, sp == old && w.leaf(r):
		if w.switches++; w.switches > maxSwitches {
			return StopLoop
		}
	case sp <= old:
		return StopLoop
	}
	w.regs = w.next
	w.enter(r.Method, r.Flags&FlagSignal == 0)
	return StopNone
}

// leaf reports whether the caller's return address is in a register, so that its
// stack pointer may be this frame's: always possible on arm64, and on x86-64 where
// a function has taken it off the stack (vfork).
func (w *Walker) leaf(r *Rule) bool {
	return w.next.PC != w.regs.PC && (w.regs.Arch != X86_64 || r.Flags&FlagRow != 0)
}

// missing classifies a place that cannot be read.
func (w *Walker) missing(addr Addr) StopReason {
	w.lacking = addr
	if w.mem.Cut(addr) {
		return StopStackCut
	}
	return StopBadMemory
}
