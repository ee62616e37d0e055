// SPDX-License-Identifier: Apache-2.0

package frames

// scanWords bounds the scan: a frame larger than this (8 KiB) is not guessed at.
const scanWords = 1024

// scan finds a caller where no source has a rule. It does so by the frame pointer if the words that it points to
// hold together. Else it does so by the first word on the stack that follows a call of this function.
func (w *Walker) scan() StopReason {
	m := w.module()
	if m == nil && w.depth > 2 {
		// A signal has interrupted the thread where no code is, or the code has gone since; whatever the stack holds
		// beyond proves nothing.
		return StopNoRule
	}
	f := w.Frame()
	start, known := w.space.funcStart(f.Lookup(w.regs.Arch))
	if (m == nil || !m.NoFP) && w.tryFramePointer(start, known) {
		return w.commit(&Rule{Method: MethodFP})
	}
	if !w.knowsSP() {
		return StopUnproven
	}
	if !w.regs.Arch.info().raOnStack || m != nil && (m.Generated || m.NoFP) {
		// In generated code the first word that follows a call is more often a remnant than the caller, because callers
		// need not call. So it is where a runtime knows the frames: what it has not proven is none.
		return w.noRule()
	}
	words := uint64(scanWords)
	if m == nil {
		words = 1 // a call to where no code is; or the list of modules is old, and the code has pushed who knows what
	}
	return w.scanStack(words, start, known)
}

// scanStack takes the first of so many words on the stack that follows a call of the function at start.
func (w *Walker) scanStack(words uint64, start Addr, known bool) StopReason {
	sp := w.regs.SP()
	for i := range words {
		at := sp + 8*i
		v, ok := w.mem.Word(at)
		if !ok {
			if stop := w.missing(at); stop == StopStackCut {
				w.searched = true
				return stop
			}
			break
		}
		if w.calls(v, start, known) {
			if w.copied(at, v) {
				at += 8
			}
			w.take(v, at+8)
			return w.commit(&Rule{Method: MethodScan})
		}
		if w.inGenerated(v) {
			break // a return address there need not follow a call, and the code may be newer than what is known of it
		}
	}
	return w.noRule()
}

// copied reports whether the word at at is a function's own copy of its return address, which lies above it. The
// outer one of two equal words is the one that a call has pushed where calls are aligned (System V ABI for x86-64,
// §3.2.2: the CFA is a multiple of 16). Free Pascal's main pushes such a copy.
func (w *Walker) copied(at, v Addr) bool {
	next, ok := w.mem.Word(at + 8)
	return ok && next == v && at%16 == 0
}

// inGenerated reports whether a word on the stack points into code that was made at run time.
func (w *Walker) inGenerated(v Addr) bool {
	m := w.space.Find(v)
	return m != nil && m.Generated
}

// noRule says why a scan found nothing: it may have lacked the frame pointer only, which a
// look that stops its thread sees.
func (w *Walker) noRule() StopReason {
	if w.given&(1<<w.regs.Arch.FP()) == 0 && w.module() != nil {
		return StopUnproven
	}
	return StopNoRule
}

// calls reports whether v is a return address from a call that can have led to
// the function at start.
func (w *Walker) calls(v, start Addr, known bool) bool {
	if v < 4096 {
		return false
	}
	call, ok := w.space.callBefore(v)
	if !ok {
		return false
	}
	if !known && call.Direct {
		// A function of known bounds that is not left by a jump cannot have led to where no bounds are known.
		return w.space.leaves(call.Target)
	}
	return !call.Direct || call.Target == start
}

// tryFramePointer believes the frame pointer where it points into the stack. The
// word above it must follow a call of this very function, or an indirect call, or be
// chained. The word at it must lead further out or end the chain. On x86-64 the
// caller's stack pointer is then just above (System V ABI, figure 3.3); on arm64 it
// is only known to be no lower: see [Walker.settleSP].
func (w *Walker) tryFramePointer(start Addr, known bool) bool {
	info := w.regs.Arch.info()
	fp, ok := w.regs.Get(info.fp)
	if !ok || fp < w.regs.SP() || fp%8 != 0 {
		return false
	}
	outer, ok := w.mem.Word(fp)
	if !ok || outer != 0 && outer <= fp {
		return false
	}
	ra, ok := w.mem.Word(fp + 8)
	if ra &^= w.regs.PACMask; !ok || !w.calls(ra, start, known) && !w.generated(ra) && !w.chained(ra, outer) {
		return false
	}
	w.take(ra, fp+16)
	if !info.raOnStack {
		w.next.Known &^= 1 << info.sp
	}
	w.next.Set(info.fp, outer)
	return true
}

// chained reports whether ra follows a call of whatever function and the frame
// pointer further out leads to another return address. The function that was
// called may have ended in a jump to this one: V8's entry trampoline calls a
// builtin that jumps to the function's code. One that has no such jump may not: then
// the frame pointer is that of a frame further out, which called the one that was left out.
func (w *Walker) chained(ra, outer Addr) bool {
	if !w.calls(ra, 0, false) || outer == 0 {
		return false
	}
	if call, ok := w.space.callBefore(ra); ok && call.Direct && !w.space.leaves(call.Target) {
		return false
	}
	next, ok := w.mem.Word(outer + 8)
	if next &^= w.regs.PACMask; !ok || next < 4096 {
		return false
	}
	_, called := w.space.callBefore(next) // of the function that this one returns to, whatever that is
	return called
}

// generated reports whether both this frame and the address are in generated code.
func (w *Walker) generated(ra Addr) bool {
	if m := w.module(); m == nil || !m.Generated {
		return false
	}
	m := w.space.Find(ra)
	return m != nil && m.Generated
}

// take sets the caller's registers when only its pc and sp are known. The frame
// pointer is kept where it still points into the caller's part of the stack.
func (w *Walker) take(pc, sp Addr) {
	info := w.regs.Arch.info()
	w.next = w.regs
	w.next.Known = 0
	if fp, ok := w.regs.Get(info.fp); ok && fp >= sp {
		w.next.Set(info.fp, fp)
	}
	w.next.PC = pc
	w.next.Set(info.sp, sp)
}
