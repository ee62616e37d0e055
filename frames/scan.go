// SPDX-License-Identifier: Apache-2.0

package frames

// scanWords bounds a scan, 8 KiB; larger frames are not found.
const scanWords = 1024

// stepByFramePointerOrScan finds the caller by the frame pointer, else by a scan, where no source has a rule, or the
// stack does not fit it.
func (w *Walker) stepByFramePointerOrScan() StopReason {
	m := w.module()
	if m == nil && w.depth > 2 {
		// a signal interrupted code in no module: nothing beyond can be checked
		return StopNoRule
	}
	f := w.Frame()
	start, known := w.space.funcStart(f.LookupPC(w.regs.Arch))
	if (m == nil || !m.NoFP) && w.stepByFramePointer(start, known) {
		return w.commit(&Rule{Method: MethodFP})
	}
	if !w.knowsSP() {
		return StopUnproven
	}
	if !w.regs.Arch.info().raOnStack || m != nil && (m.Generated || m.NoFP) {
		// callers in generated code need not call: a word that follows a call is mostly a remnant
		return w.noRuleReason()
	}
	words := uint64(scanWords)
	if m == nil {
		words = 1 // after a call into unmapped code; code newer than the modules may have pushed more
	}
	return w.stepByScan(words, start, known)
}

// stepByScan takes the first of so many stack words that follows a call of the function at start.
func (w *Walker) stepByScan(words uint64, start Addr, known bool) StopReason {
	sp := w.regs.SP()
	for i := range words {
		at := sp + 8*i
		v, ok := w.mem.Word(at)
		if !ok {
			if stop := w.stopAtUnread(at); stop == StopStackCut {
				w.scanWasCut = true
				return stop
			}
			break
		}
		if w.space.isReturnAddressOf(v, start, known) {
			if w.isOwnCopy(at, v) {
				at += 8
			}
			w.setCaller(v, at+8)
			return w.commit(&Rule{Method: MethodScan})
		}
		if w.space.isGenerated(v) {
			break // a return address there need not follow a call
		}
	}
	return w.noRuleReason()
}

// noRuleReason is StopUnproven if the frame pointer of a passive read is unknown: that may be all that was missing.
func (w *Walker) noRuleReason() StopReason {
	if w.knownInnermost&(1<<w.regs.Arch.FP()) == 0 && w.module() != nil {
		return StopUnproven
	}
	return StopNoRule
}

// isOwnCopy reports whether the word v is a copy of the return address above it (Free Pascal's main): equal, and the
// CFA is then a multiple of 16 (System V ABI for x86-64, §3.2.2).
func (c *callerStep) isOwnCopy(at, v Addr) bool {
	next, ok := c.mem.Word(at + 8)
	return ok && next == v && at%16 == 0
}

// setCaller sets pc and sp, and keeps a frame pointer into the caller's part of the stack.
func (c *callerStep) setCaller(pc, sp Addr) {
	info := c.regs.Arch.info()
	c.next = c.regs
	c.next.Known = 0
	if fp, ok := c.regs.Get(info.fp); ok && fp >= sp {
		c.next.Set(info.fp, fp)
	}
	c.next.PC = pc
	c.next.Set(info.sp, sp)
}
