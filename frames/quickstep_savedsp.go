package frames

import "encoding/binary"

// The frames of HotSpot's interpreter save their caller's stack pointer in a word near the one that the frame pointer
// points to. The return address and the caller's frame pointer are in others near there. No [Rule] can say that, so
// that a [Row] does. In a JVM a third of all frames are such. Without this step its stacks take three times as long.

// savedOffsets tells where the frame has these words: how far above where the frame pointer shows to, in units of 8
// bytes.
type savedOffsets struct{ sp, pc, fp int8 }

// maxKept bounds the distances, and keptBytes is the size of the window around the frame pointer that has them all.
const (
	maxKept   = 7
	keptBytes = 8 * (2*maxKept + 1)
)

// prepareRow is prepare for a rule that keeps its Row.
func (s *Space) prepareRow(e *entry) {
	info, r := s.Arch.info(), &e.rule
	if r.Flags != FlagRow || r.Method != MethodCFI || r.CFAReg != info.fp || !info.raOnStack {
		return
	}
	row := s.rows[r.row()].Row
	if e.kept, e.byRow = row.kept(info); !e.byRow {
		return
	}
	e.known = 1<<info.sp | 1<<info.fp
	for reg := range uint8(NumRegs) {
		if info.kept>>reg&1 != 0 && row.Regs[reg].Kind == RuleSame {
			e.keeps |= 1 << reg
		}
	}
}

// kept reports whether a row describes a frame of that kind, and where the frame has what it keeps.
func (row *Row) kept(info *archInfo) (at savedOffsets, ok bool) {
	if row.CFAExpr != nil || !row.CFADeref || row.CFAReg != info.fp {
		return at, false
	}
	for reg := range uint8(NumRegs) {
		switch row.Regs[reg].Kind {
		case RuleSame:
			ok = reg != info.fp
		case RuleUndefined:
			ok = info.kept>>reg&1 != 0
		default:
			ok = reg == info.fp
		}
		if !ok {
			return at, false
		}
	}
	var spOK, pcOK, fpOK bool
	at.sp, spOK = savedOffset(&RegRule{Kind: RuleRegOffset, Reg: info.fp, Off: row.CFAOff}, info)
	at.pc, pcOK = savedOffset(&row.RA, info)
	at.fp, fpOK = savedOffset(&row.Regs[info.fp], info)
	return at, spOK && pcOK && fpOK
}

// savedOffset gives one of the savedOffsets.
func savedOffset(p *RegRule, info *archInfo) (int8, bool) {
	at := p.Off / 8
	return int8(at), p.Kind == RuleRegOffset && p.Reg == info.fp && p.Off%8 == 0 && at >= -maxKept && at <= maxKept
}

// stepByRow makes the step from such a frame, if all that it reads lies in the copied stack, it leads further out,
// and the caller's rule is in the cache. False leaves all as it was.
func (w *Walker) stepByRow() bool {
	e, regs, val := w.cur, &w.regs, &w.regs.Val
	from := val[X86RBP] + 8*(windowUnits-maxKept) - w.low
	to := from + keptBytes
	if regs.Known&(1<<X86RBP) == 0 || from > to || to > uint64(len(w.stack)) {
		return false
	}
	p := (*[keptBytes]byte)(w.stack[from:to:to])
	pc, sp := keptWord(p, e.kept.pc), keptWord(p, e.kept.sp)
	ne := &w.space.cache[e.next%numSlots]
	if k := cacheKey(pc, true, false); ne.key != k {
		i := w.space.slot(k)
		if i == numSlots {
			return false
		}
		e.next, ne = uint16(i), &w.space.cache[i]
	}
	if ne.has == 0 || pc == 0 || sp <= val[X86RSP] {
		return false
	}
	val[X86RBP], val[X86RSP] = keptWord(p, e.kept.fp), sp
	regs.Known = regs.Known&uint64(e.keeps) | uint64(e.known)
	regs.PC = pc
	w.enterAt(ne, MethodCFI, true)
	return true
}

// keptWord reads a word of the window.
func keptWord(p *[keptBytes]byte, at int8) uint64 {
	i := uint(at+maxKept) % (2*maxKept + 1) * 8
	return binary.LittleEndian.Uint64(p[i : i+8])
}
