// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

var abiX86 = abi{
	sp: hwSP, fp: hwBP, ra: noReg, entry: 8, scratch: scratchX86,
	calleeSaved:    []uint8{hwBP, hwBX, 12, 13, 14, 15},
	step:           stepX86,
	tail:           tailX86,
	isFrame:        isFrameX86,
	dwarf:          dwarfX86,
	findEpilogue:   (*interpreter).findEpilogueX86,
	argumentDrop:   argumentDropX86,
	tableRegLoaded: tableRegLoadedX86,
	jumpsBy:        jumpsByX86,
	afterPush:      afterPushX86,
	callBefore:     callBeforeX86,
	popped:         poppedX86,
	isThreadRoot:   isThreadRootX86,
	isStackStart:   isStackStartX86,
	switchTarget:   switchTargetX86,
	isTrap:         isTrapX86,
	endsInJump:     endsInJumpX86,
	hasTailCall:    (*interpreter).hasTailCallX86,
	trampoline:     trampolineX86,
}

func tailX86(st *symbolicState) flow {
	return flow{kind: flowTail, ret: st.regs[hwSP].plus(8)}
}

// isFrameX86 reports whether rbp points to the caller's rbp, below the return address.
func isFrameX86(fp, at, _ value) bool {
	return fp.off == -8 && at.isStartValue(hwBP)
}

// dwarfX86 converts a hardware register number (System V ABI, figure 3.36).
func dwarfX86(reg uint8) uint8 {
	numbers := [8]uint8{
		frames.X86RAX, frames.X86RCX, frames.X86RDX, frames.X86RBX,
		frames.X86RSP, frames.X86RBP, frames.X86RSI, frames.X86RDI,
	}
	if reg < 8 {
		return numbers[reg]
	}
	return reg
}

func afterPushX86(w *interpreter, pc uint64) bool {
	b := w.code(pc - 6)
	return pc > 6 && len(b) >= 2 && b[0] == 0xff && b[1] == 0x35
}
