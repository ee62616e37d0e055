// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"

	"prywalk/frames"
)

// ruleARM64 returns the rule of a function of kind k. A frame has x30 in its lowest word and the caller's x29 in the
// word below (runtime/traceback.go).
func (t *rules) ruleARM64(q frames.Query, f *funcInfo, k funcKind, spWrite bool, delta int32) (
	frames.Rule, *frames.Row, bool,
) {
	pc := q.LookupPC(t.funcs.img.Arch)
	switch k {
	case kindFollow:
		if !spWrite {
			return t.followedARM64(q, f, delta)
		}
	case kindInjected:
		return t.injectedARM64(q, f, delta)
	case kindStackEnd:
		if q.AfterCall {
			return root()
		}
		if !q.SPOnly {
			if r, row, ok, newThread := t.createdARM64(f, pc); newThread {
				return r, row, ok
			}
		}
	case kindMorestack:
		if q.AfterCall || t.loadsG(f, pc) {
			return t.morestackARM64(q)
		}
		return t.enteredARM64(q)
	}
	if string(t.funcs.name(f)) == "runtime.morestack_noctxt" {
		return t.enteredARM64(q)
	}
	return t.ordinaryARM64(q, f, k, spWrite, delta)
}

func (t *rules) ordinaryARM64(q frames.Query, f *funcInfo, k funcKind, spWrite bool, delta int32) (
	frames.Rule, *frames.Row, bool,
) {
	pc := q.LookupPC(t.funcs.img.Arch)
	switch {
	case spWrite && !q.AfterCall && t.leavesARM64(pc):
		return t.leavingARM64(q, delta)
	case spWrite && (q.AfterCall || t.writesSP(f, pc)):
		return t.switchedARM64(q, f, k, delta)
	case delta == 0:
		return t.leafARM64(q)
	}
	fr, ok := t.frameARM64(f)
	if !ok || pc < fr.lrFrom {
		if q.AfterCall {
			return refuse()
		}
		return frames.Rule{CFAReg: frames.ARM64SP, CFAOff: delta, Flags: frames.FlagRAInLR, Method: frames.MethodCFI}, nil,
			true
	}
	r := frames.Rule{CFAReg: frames.ARM64SP, CFAOff: delta, Method: frames.MethodCFI}
	if k == kindTrampoline {
		r.Flags |= frames.FlagExactPC
	}
	return t.frameRule(r, delta, fr.fpFrom != 0 && pc >= fr.fpFrom)
}

func (t *rules) leafARM64(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.AfterCall {
		return refuse()
	}
	return frames.Rule{CFAReg: frames.ARM64SP, Flags: frames.FlagRAInLR, Method: frames.MethodCFI}, nil, true
}

func (t *rules) frameRule(r frames.Rule, delta int32, fp bool) (frames.Rule, *frames.Row, bool) {
	lr, ok := frames.SavedUnits(-int64(delta))
	below, ok2 := frames.SavedUnits(-int64(delta) - 8)
	if ok && ok2 {
		r.Saved[1] = lr
		if fp {
			r.Saved[0] = below
		}
		return r, nil, true
	}
	row := &frames.Row{CFAReg: r.CFAReg, CFAOff: int64(r.CFAOff)}
	row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -int64(delta)}
	if fp {
		row.Regs[frames.ARM64FP] = frames.RegRule{Kind: frames.RuleOffset, Off: -int64(delta) - 8}
	}
	return r, row, true
}

// frameARM64 has the pcs from which x30 and x29 are in the frame; 0 means never.
type frameARM64 struct{ lrFrom, fpFrom uint64 }

// Instructions of prologues.
const (
	strLRPre  = 0xf8000ffe // str x30, [sp, #imm]!
	sturFP    = 0xf81f83fd // stur x29, [sp, #-8]
	movSP     = 0x9100001f // mov sp, xN
	stpFPLR   = 0xa93ff81d // stp x29, x30, [xN, #-8]
	sturLR    = 0xf80003fe // stur x30, [sp, #imm]
	strLRBase = 0xf900001e // str x30, [xN]
	strLRReg  = 0xf8206bfe // str x30, [sp, xN], of large frames
	subSP     = 0xd10003ff // sub sp, sp, #imm
)

// Instructions of epilogues.
const (
	ldurFP    = 0xf85f83fd // ldur x29, [sp, #-8]
	ldrLRPost = 0xf84007fe // ldr x30, [sp], #imm
	ldpFPLR   = 0xa97ffbfd // ldp x29, x30, [sp, #-8], of Go 1.19 and 1.20
	addSP     = 0x910003ff // add sp, sp, #imm
	retARM64  = 0xd65f03c0
)

func (t *rules) leavesARM64(pc uint64) bool {
	before, now := t.funcs.insnARM64(pc-4), t.funcs.insnARM64(pc)
	return before == ldurFP && now&0xffe00fff == ldrLRPost || before&0xffe00fff == ldrLRPost && now == retARM64 ||
		before == ldpFPLR && now&0xffc003ff == addSP || before&0xffc003ff == addSP && now == retARM64
}

// leavingARM64 returns the rule in an epilogue: once the frame is gone, x30 is the caller's.
func (t *rules) leavingARM64(q frames.Query, delta int32) (frames.Rule, *frames.Row, bool) {
	if delta <= 0 {
		return t.leafARM64(q)
	}
	return t.frameRule(frames.Rule{CFAReg: frames.ARM64SP, CFAOff: delta, Method: frames.MethodCFI}, delta, false)
}

func (t *rules) frameARM64(f *funcInfo) (frameARM64, bool) {
	s := t.funcs.steps(f.pcsp, f.entry)
	for s.next() && s.val <= 0 {
	}
	var w [4]uint32 // the second makes the frame
	if s.val <= 0 || s.start < f.entry+4 {
		return frameARM64{}, false
	}
	for i := range w {
		w[i] = t.funcs.insnARM64(s.start - 8 + 4*uint64(i))
	}
	fr := frameARM64{lrFrom: s.start}
	switch made := w[1]; {
	case made&0xffe00fff == strLRPre, w[0]&0xffe00fff == sturLR, made&0xffc003ff == subSP && w[0]&0xffe0ffff == strLRReg:
		if w[2] == sturFP {
			fr.fpFrom = s.start + 4
		}
		return fr, true
	case made&0xfffffc1f == movSP:
		if w[0]&0xfffffc1f == stpFPLR {
			fr.fpFrom = s.start
			return fr, true
		}
		if w[2] == sturFP {
			fr.fpFrom = s.start + 4
		}
		return fr, w[0]&0xfffffc1f == strLRBase
	}
	return frameARM64{}, false
}

func (t *funcs) insnARM64(pc uint64) uint32 {
	var b [4]byte
	if !t.img.read(pc, b[:]) {
		return 0
	}
	return binary.LittleEndian.Uint32(b[:])
}

// injectedARM64 returns the rule of a call made by a signal handler, which pushed x30 in 16 bytes.
func (t *rules) injectedARM64(q frames.Query, f *funcInfo, delta int32) (frames.Rule, *frames.Row, bool) {
	pc := q.LookupPC(t.funcs.img.Arch)
	fr, ok := t.frameARM64(f)
	leaf := delta == 0 || ok && pc < fr.lrFrom
	if leaf && q.AfterCall || !leaf && !ok {
		return refuse()
	}
	fp := !leaf && fr.fpFrom != 0 && pc >= fr.fpFrom
	row := injectedRow(int64(delta), leaf, fp)
	return frames.Rule{CFAReg: frames.ARM64SP, Flags: frames.FlagExactPC, Method: frames.MethodCFI}, row, true
}

func injectedRow(delta int64, leaf, fp bool) *frames.Row {
	cfa := delta + 16
	row := &frames.Row{CFAReg: frames.ARM64SP, CFAOff: cfa, RA: frames.RegRule{Kind: frames.RuleOffset, Off: -cfa}}
	if leaf {
		row.RA = frames.RegRule{Kind: frames.RuleReg, Reg: frames.ARM64LR}
	}
	row.Regs[frames.ARM64LR] = frames.RegRule{Kind: frames.RuleOffset, Off: -16}
	if fp {
		row.Regs[frames.ARM64FP] = frames.RegRule{Kind: frames.RuleOffset, Off: -cfa - 8}
	}
	return row
}

// followedARM64 returns the rule of crosscall2, which stores registers with stp.
func (t *rules) followedARM64(q frames.Query, f *funcInfo, delta int32) (frames.Rule, *frames.Row, bool) {
	if delta == 0 {
		return t.leafARM64(q)
	}
	pc := q.LookupPC(t.funcs.img.Arch)
	r := frames.Rule{CFAReg: frames.ARM64SP, CFAOff: delta, Method: frames.MethodCFI}
	row := &frames.Row{CFAReg: frames.ARM64SP, CFAOff: int64(delta), RA: frames.RegRule{Kind: frames.RuleSame}}
	for at := f.entry; at < pc && at < f.entry+256; at += 4 {
		w := t.funcs.insnARM64(at)
		if w>>26 == 0x25 {
			break // the prologue is over
		}
		if w&0xffc003e0 != 0xa90003e0 { // stp xA, xB, [sp, #imm]
			continue
		}
		off := int64(int32(w<<10)>>25)*8 - int64(delta)
		for i, reg := range [2]uint32{w & 31, w >> 10 & 31} {
			if reg >= 19 && reg <= 30 {
				row.Regs[reg] = frames.RegRule{Kind: frames.RuleOffset, Off: off + 8*int64(i)}
			}
		}
	}
	row.RA = row.Regs[frames.ARM64LR]
	row.Regs[frames.ARM64LR] = frames.RegRule{}
	if q.AfterCall && row.RA.Kind == frames.RuleSame {
		if fr, ok := t.frameARM64(f); ok {
			return t.frameRule(r, delta, fr.fpFrom != 0)
		}
		return refuse()
	}
	return r, row, true
}
