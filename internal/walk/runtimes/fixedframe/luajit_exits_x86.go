// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// luaExits are where traces end in the interpreter. Call frame information is wrong there: sp is the trace's or lower.
//
// Source: vm_x64.dasc, vm_exit_handler and vm_exit_interp.
type luaExits struct {
	callReturn uint64 // of the handler's call
	frame      uint64 // rcx is the C frame from here …
	interp     uint64 // … except here …
	end        uint64 // … to here
	exit       *managed.VerifiedRule
}

var (
	// lea rcx, [rsp + 16]; mov r13, [rcx − 8]; mov r12, [rcx]; mov rsp, rcx
	luaExitInterp = []byte{0x48, 0x8d, 0x4c, 0x24, 0x10, 0x4c, 0x8b, 0x69, 0xf8, 0x4c, 0x8b, 0x21, 0x48, 0x89, 0xcc}
	// and rcx, −4, after mov rcx, [rbp + …] (L's C frame)
	luaMaskCFrame = []byte{0x48, 0x83, 0xe1, 0xfc}
	// lea rbp, [rsp + 88]; push rbp, rbx, rdx, rcx, rax
	luaExitPushes = []byte{0x48, 0x8d, 0x6c, 0x24, 0x58, 0x55, 0x53, 0x52, 0x51, 0x50}
	luaExitFloats = []byte{0x48, 0x81, 0xec, 0x80, 0, 0, 0} // sub rsp, 128
)

const (
	luaExitHandlerBytes = 320
	luaExitState        = 128 + 5*8 + 88        // bytes pushed at the handler's call
	luaExitSP           = luaExitState - 88 - 8 // offset of the trace's sp in these
)

func (l *luaJIT) findExits(addr uint64, code []byte) {
	i := bytes.Index(code, luaExitInterp)
	if i < luaExitHandlerBytes {
		return
	}
	before := code[i-luaExitHandlerBytes : i]
	mask, pushes := bytes.LastIndex(before, luaMaskCFrame), bytes.LastIndex(before, luaExitPushes)
	if mask < 9 || before[mask-9] != 0xe8 || pushes < 0 || !bytes.Contains(before[pushes:], luaExitFloats) {
		return
	}
	start := addr + uint64(i-luaExitHandlerBytes)
	l.exits = luaExits{
		callReturn: start + uint64(mask) - 4, frame: start + uint64(mask) + 4,
		interp: addr + uint64(i), end: addr + uint64(i+len(luaExitInterp)),
	}
}

func (l *luaJIT) fileRule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	pc, e := q.PC+l.process.lib.Bias, &l.exits
	switch {
	case q.AfterCall && pc == e.callReturn:
		return e.exit.Rule(q)
	case q.AfterCall:
		return frames.Rule{}, nil, false
	case pc < e.frame && pc != e.callReturn, pc >= e.end:
		r, ok := l.partial(pc)
		return r, nil, ok
	case pc == e.interp:
		return l.exitRow(frames.X86RSP, luaJLoopPushed), nil, true
	case pc == e.callReturn:
		return e.exit.Rule(q)
	}
	return l.exitRow(frames.X86RCX, 0), nil, true
}

func (l *luaJIT) exitRow(reg uint8, off int64) frames.Rule {
	r := frames.Rule{Method: frames.MethodHeuristic, CFAReg: reg, CFAOff: int32(l.cframeSize + off)}
	for i, reg := range compactX86 {
		if p := l.frame.Row.Regs[reg]; p.Kind == frames.RuleOffset {
			r.Saved[i], _ = frames.SavedUnits(p.Off)
		}
	}
	return r
}

// proveExit finds the C frame at the handler's call. Of frames at the distances of traces exactly one belongs to the
// Lua thread in rbp.
func (l *luaJIT) proveExit(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, ok1 := regs.Get(frames.X86RSP)
	state, ok2 := regs.Get(frames.X86RBP)
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	top := sp + luaExitState
	if v, readable := mem.Word(sp + luaExitSP); !readable || v != top {
		return 0, 0, false
	}
	for _, spill := range l.spills {
		frame := top + uint64(spill+luaJLoopPushed)
		if v, _ := mem.Word(frame + luaSaveL); v != state || !l.isFrame(mem, frame) {
			continue
		}
		if cfa != 0 {
			return 0, 0, false
		}
		cfa = frame + uint64(l.cframeSize)
	}
	return cfa, 0, cfa != 0
}

// add rsp, 40; pop r14, r15, rbx, rbp; ret
var luaEpilogue = []byte{0x48, 0x83, 0xc4, 0x28, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d, 0xc3}

// The frame's words by offset of an instruction.
var (
	luaEnterSteps = map[int]int{0: 1, 1: 2, 2: 3, 4: 4, 6: 5}
	luaLeaveSteps = map[int]int{4: 5, 6: 4, 8: 3, 9: 2, 10: 1}
)

// partial is the rule while the interpreter's frame is made or removed.
func (l *luaJIT) partial(pc uint64) (frames.Rule, bool) {
	var code [2*16 - 1]byte
	const mid = len(code) / 2
	if l.process.host.Read(pc-uint64(mid), code[:]) < len(code) {
		return frames.Rule{}, false
	}
	words := stepIn(code[:], mid, luaPrologue, luaEnterSteps)
	if words == 0 {
		words = stepIn(code[:], mid, luaEpilogue, luaLeaveSteps)
	}
	if words == 0 {
		return frames.Rule{}, false
	}
	r := frames.Rule{Method: frames.MethodHeuristic, CFAReg: frames.X86RSP, CFAOff: int32(8 * words)}
	for i, reg := range compactX86 {
		p := l.frame.Row.Regs[reg]
		if units, _ := frames.SavedUnits(p.Off); p.Kind == frames.RuleOffset && int(units) <= words {
			r.Saved[i] = units
		}
	}
	return r, true
}

// stepIn returns the frame's words if code has want around at, else 0.
func stepIn(code []byte, at int, want []byte, steps map[int]int) int {
	for off, words := range steps {
		if from := at - off; from >= 0 && bytes.HasPrefix(code[from:], want) {
			return words
		}
	}
	return 0
}
