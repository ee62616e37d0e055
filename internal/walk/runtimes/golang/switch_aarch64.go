// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"

	"prywalk/frames"
)

// morestackARM64 returns the rule of morestack on the scheduler's stack. The caller has no frame yet; its registers are
// in curg.sched.
func (t *rules) morestackARM64(q frames.Query) (frames.Rule, *frames.Row, bool) {
	c, ok := t.decoder.GOffsets()
	if !ok {
		return refuse()
	}
	e := func(off int64) gobufExpr {
		return gobufExpr{t: t, pc: q.PC, c: c, off: off, leftBy: kindMorestack}
	}
	row := &frames.Row{CFAExpr: e(c.SchedSP), RA: frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedPC)}}
	row.Regs[frames.ARM64FP] = frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedBP)}
	row.Regs[frames.ARM64LR] = frames.RegRule{Kind: frames.RuleValExpr, Expr: e(c.SchedLR)}
	return frames.Rule{Flags: frames.FlagStackSwitch | frames.FlagExactPC, Method: frames.MethodCFI}, row, true
}

// schedARM64 returns the rule of systemstack on the scheduler's stack until Go 1.20: its frame of delta bytes is at
// curg.sched.sp.
func (t *rules) schedARM64(q frames.Query, delta int32) (frames.Rule, *frames.Row, bool) {
	c, ok := t.decoder.GOffsets()
	if !ok {
		return refuse()
	}
	cfa := gobufExpr{t: t, pc: q.PC, c: c, off: c.SchedSP, add: uint64(delta), leftBy: kindSystemStack}
	row := &frames.Row{CFAExpr: cfa, RA: frames.RegRule{Kind: frames.RuleOffset, Off: -int64(delta)}}
	row.Regs[frames.ARM64FP] = frames.RegRule{Kind: frames.RuleOffset, Off: -int64(delta) - 8}
	return frames.Rule{Flags: frames.FlagStackSwitch, Method: frames.MethodCFI}, row, true
}

func (t *funcs) callBeforeARM64(ret uint64) (uint64, bool) {
	w := t.insnARM64(ret - 4)
	return ret - 4 + uint64(int64(int32(w<<6))>>6<<2), w>>26 == 0x25
}

// enteredARM64 returns the rule of morestack before it changes stacks: no frame, its caller's return address in x3.
func (t *rules) enteredARM64(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.AfterCall {
		return refuse()
	}
	row := &frames.Row{CFAReg: frames.ARM64SP, RA: frames.RegRule{Kind: frames.RuleReg, Reg: frames.ARM64LR}}
	row.Regs[frames.ARM64LR] = frames.RegRule{Kind: frames.RuleReg, Reg: 3}
	return frames.Rule{CFAReg: frames.ARM64SP, Flags: frames.FlagExactPC, Method: frames.MethodCFI}, row, true
}

// loadsG reports whether f has loaded g before pc: the goroutine's registers are then saved.
func (t *rules) loadsG(f *funcInfo, pc uint64) bool {
	for at := f.entry; at < pc && at < f.entry+maxFlowBytes; at += 4 {
		if load, rt, _, _, ok := memARM64(t.funcs.insnARM64(at)); ok && load && rt == 28 {
			return true
		}
	}
	return false
}

func (t *rules) writesSP(f *funcInfo, pc uint64) bool {
	sp, _, ok := t.switchesARM64(f, pc)
	return sp > 0 || !ok
}

func (t *rules) switchesARM64(f *funcInfo, pc uint64) (sp, fp int, ok bool) {
	code, ok := t.codeBefore(f, pc)
	for ; len(code) >= 4; code = code[4:] {
		w := binary.LittleEndian.Uint32(code)
		if setsSP(w) {
			sp++
		}
		if load, rt, rn, _, ok := memARM64(w); ok && load && rt == frames.ARM64FP && rn == 28 {
			fp++
		}
	}
	return sp, fp, ok
}

// codeBefore returns a function's instructions before pc, or false if they are unreadable, or too many.
func (t *rules) codeBefore(f *funcInfo, pc uint64) ([]byte, bool) {
	if pc-f.entry > maxFlowBytes {
		return nil, false
	}
	code := make([]byte, (pc-f.entry)&^3)
	if !t.funcs.img.read(f.entry, code) {
		return nil, false
	}
	return code, true
}

// setsSP matches mov sp, xN. mov sp, sp is a marker for the linker.
func setsSP(w uint32) bool { return w&0xfffffc1f == movSP && w != movSP|31<<5 }

// switchedARM64 returns the rule after a possible change of stacks: x29 still points below the frame.
func (t *rules) switchedARM64(q frames.Query, f *funcInfo, k funcKind, delta int32) (
	frames.Rule, *frames.Row, bool,
) {
	if delta <= 0 {
		if k == kindStackEnd {
			return root()
		}
		return t.copiedARM64(q, f)
	}
	switch k {
	case kindCgoCall:
		return t.cgoCallARM64(q, f, delta)
	case kindSystemStack:
		switch sp, fp, ok := t.switchesARM64(f, q.LookupPC(t.funcs.img.Arch)); {
		case ok && sp == 1 && fp == 1: // until Go 1.20: x29 is the scheduler's
			return t.schedARM64(q, delta)
		case ok && sp == 2: // back on the goroutine's stack
			return t.frameRule(frames.Rule{CFAReg: frames.ARM64SP, CFAOff: delta, Method: frames.MethodCFI}, delta, true)
		}
	}
	if fr, ok := t.frameARM64(f); !ok || fr.fpFrom == 0 || q.SPOnly || k == kindStackEnd {
		return t.copiedARM64(q, f)
	}
	r := frames.Rule{CFAReg: frames.ARM64FP, CFAOff: delta + 8, Flags: frames.FlagStackSwitch, Method: frames.MethodCFI}
	return t.frameRule(r, delta, true)
}

// copiedARM64 returns the rule of racecall on another stack: it copies sp and x30 to registers that C code preserves.
// Later writes of these are not checked.
func (t *rules) copiedARM64(q frames.Query, f *funcInfo) (frames.Rule, *frames.Row, bool) {
	const movFromSP, movFromLR = 0x910003e0, 0xaa1e03e0 // mov xN, sp; mov xN, x30
	code, _ := t.codeBefore(f, q.LookupPC(t.funcs.img.Arch))
	var sp, lr uint8
	var off int32 // CFA − sp at the copy
	for at := 0; at+4 <= len(code); at += 4 {
		w := binary.LittleEndian.Uint32(code[at:])
		if setsSP(w) || w>>26 == 0x25 || w&0xfffffc1f == 0xd63f0000 { // bl, blr
			break
		}
		reg := uint8(w & 31)
		if frames.ARM64.CalleeSaved()&(1<<reg) == 0 || reg == frames.ARM64FP {
			continue
		}
		switch w &^ 31 {
		case movFromSP:
			delta, ok := t.funcs.pcvalue(f, f.pcsp, f.entry+uint64(at))
			if !ok || delta < 0 {
				return refuse()
			}
			sp, off = reg, delta
		case movFromLR:
			lr = reg
		}
	}
	if sp == 0 || lr == 0 || q.SPOnly {
		return refuse()
	}
	row := &frames.Row{CFAReg: sp, CFAOff: int64(off), RA: frames.RegRule{Kind: frames.RuleReg, Reg: lr}}
	return frames.Rule{CFAReg: sp, CFAOff: off, Flags: frames.FlagStackSwitch, Method: frames.MethodCFI}, row, true
}

// cgoCallARM64 is as cgoCallX86. Before the change of stacks pcsp holds.
func (t *rules) cgoCallARM64(q frames.Query, f *funcInfo, delta int32) (frames.Rule, *frames.Row, bool) {
	pc := q.LookupPC(t.funcs.img.Arch)
	if !q.AfterCall {
		return refuse()
	}
	r := frames.Rule{CFAReg: frames.ARM64SP, CFAOff: delta, Method: frames.MethodCFI}
	if w := t.funcs.insnARM64(pc); w>>26 == 0x25 { // bl: a helper; C code is called by blr
		if t.writesSP(f, pc) {
			return refuse()
		}
		return t.frameRule(r, delta, true)
	}
	row := &frames.Row{CFAExpr: cgoCFA{frame: delta, g: 0, depth: 8, sp: frames.ARM64SP, fp: frames.ARM64FP}}
	row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -int64(delta)}
	row.Regs[frames.ARM64FP] = frames.RegRule{Kind: frames.RuleOffset, Off: -int64(delta) - 8}
	r.Flags |= frames.FlagStackSwitch
	return r, row, true
}

// After the system call in runtime.clone a new thread has 0 in x0, its parent's x30 and no caller. Code after the
// parent's return runs in new threads only.

const svcARM64 = 0xd4000001

func (t *rules) createdARM64(f *funcInfo, pc uint64) (r frames.Rule, row *frames.Row, ok, newThread bool) {
	at, end := f.entry, min(f.end, f.entry+maxFlowBytes)
	for at < end && t.funcs.insnARM64(at) != svcARM64 {
		at += 4
	}
	if at >= end || pc <= at {
		return r, nil, false, false
	}
	for at < end && t.funcs.insnARM64(at) != retARM64 {
		at += 4
	}
	if at < end && pc > at {
		r, row, ok = root()
		return r, row, ok, true
	}
	row = &frames.Row{CFAReg: frames.ARM64SP, RA: frames.RegRule{Kind: frames.RuleValExpr, Expr: parentsLR{}}}
	return frames.Rule{CFAReg: frames.ARM64SP, Method: frames.MethodCFI}, row, true, true
}

type parentsLR struct{}

// Eval implements [frames.Expr].
func (parentsLR) Eval(regs *frames.Regs, _ frames.Memory, _ uint64) (uint64, bool) {
	if result, ok := regs.Get(0); !ok || result == 0 {
		return 0, ok
	}
	return regs.Get(frames.ARM64LR)
}
