// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/code/x86"
)

// entrySize is in bytes. glibc's entry point has 0x26, Free Pascal's 0x51.
const entrySize = 0x200

func (p *patterns) root(q frames.Query) (frames.Rule, *frames.Row, bool) {
	pc := q.LookupPC(p.src.opt.Arch)
	if !p.isEntryPoint(pc) && !p.isStackStart(pc) && !p.isThreadRoot(q.PC) {
		return frames.Rule{}, nil, false
	}
	return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodHeuristic}, nil, true
}

// isEntryPoint reports whether pc is in the entry point's function. Without bounds, that ends at the first instruction
// that nothing follows: also a call before a landing place or padding.
func (p *patterns) isEntryPoint(pc uint64) bool {
	entry := p.src.opt.Entry
	if entry == 0 || pc < entry {
		return false
	}
	if fn, ok := p.src.bounds(entry); ok && fn.lo == entry {
		return pc < fn.hi
	}
	return pc-entry < entrySize && pc < p.findEntryEnd(entry)
}

// StartsProcess reports whether pc is in the entry point, and that clears rbp first (System V ABI §3.4.1). Zig's has
// call frame information of a function with a caller (before 0.14).
func (s *Source) StartsProcess(q frames.Query) bool {
	pc := q.LookupPC(s.opt.Arch)
	if s.opt.Entry == 0 || s.opt.Arch != frames.X86_64 || pc < s.opt.Entry || pc-s.opt.Entry >= entrySize {
		return false
	}
	n := s.opt.Code.ReadCode(s.opt.Entry, s.buf[:])
	i, ok := x86.Decode(s.buf[:n])
	if ok && isLandingX86(&i) {
		i, ok = x86.Decode(s.buf[i.Size:n])
	}
	if !ok || !clearsBPX86(&i) {
		return false
	}
	a := s.analysis()
	defer a.free()
	return a.isEntryPoint(pc)
}

func (p *patterns) findEntryEnd(entry uint64) uint64 {
	p.begin(entry, everywhere)
	last := entry // instruction
	for st := &p.st; st.pc < entry+entrySize; {
		last = st.pc
		if fn, ok := p.src.bounds(last); ok && fn.lo == last {
			return last
		}
		f := p.step()
		if st.doubtful {
			return last
		}
		if !f.fallsThrough() {
			break
		}
		if f.kind == flowCall {
			st.recordCall()
		}
	}
	return max(p.st.pc, last+1)
}

// maxRoot counts the instructions to the exit system call.
const (
	maxRoot      = 16
	maxRootBytes = maxRoot * 15
)

// Step does not track mov al, imm.
const opMovAL = 0xb0

// isThreadRoot recognises a new thread's code in clone and clone3: a call by register, then exit. C libraries have no
// call frame information for it. pc is before or behind the call.
func (p *patterns) isThreadRoot(pc uint64) bool {
	if code := p.code(pc); len(code) >= maxRootBytes && !bytes.Contains(code[:maxRootBytes], p.abi.syscall) {
		return false
	}
	call, called := p.abi.callBefore(p.src, pc)
	called = called && !call.Direct // by register
	p.begin(pc, everywhere)
	for range maxRoot {
		code := p.code(p.st.pc)
		if bytes.HasPrefix(code, p.abi.syscall) {
			number := p.st.regs[p.abi.syscallReg]
			return called && number.kind == constant && (number.off == p.abi.exit || number.off == p.abi.exitGroup)
		}
		switch f := p.step(); {
		case f.kind == flowCall && f.target == 0:
			called = true
		case f.kind != flowNext:
			return false
		}
		if p.src.opt.Arch == frames.X86_64 && code[0] == opMovAL { // musl's, behind xor eax, eax
			p.st.regs[hwAX] = value{kind: constant, off: int32(code[1])}
		}
	}
	return false
}

// maxStackStart is in bytes.
const maxStackStart = 64

// isStackStart recognises the first function of a stack on x86-64. It clears rbp (System V ABI §3.4.1: _start, Boost's
// fibers), or sets rsp from a callee-saved register (glibc's __start_context), and ends in hlt.
func (p *patterns) isStackStart(pc uint64) bool {
	fn, ok := p.src.bounds(pc)
	if p.src.opt.Arch != frames.X86_64 || !ok || fn.hi-fn.lo > maxStackStart {
		return false
	}
	for pc, first := fn.lo, true; pc < fn.hi; {
		i, ok := x86.Decode(p.code(pc))
		if !ok {
			return false
		}
		if first && !isLandingX86(&i) {
			if !setsSPFromSavedX86(&i) && !clearsBPX86(&i) {
				return false
			}
			first = false
		}
		if i.Map == x86.MapOne && i.Op == 0xf4 { // hlt
			return true
		}
		pc += uint64(i.Size)
	}
	return false
}

func clearsBPX86(i *x86.Inst) bool {
	return i.Map == x86.MapOne && (i.Op == 0x31 || i.Op == 0x33) && i.Mod == 3 && i.RM == hwBP && i.Reg == hwBP
}

func setsSPFromSavedX86(i *x86.Inst) bool {
	from, to := i.Reg, i.RM
	if i.Op == 0x8b {
		from, to = to, from
	}
	return i.Map == x86.MapOne && (i.Op == 0x89 || i.Op == 0x8b) && i.Mod == 3 && i.W && to == hwSP &&
		(from == hwBX || from >= 12 && from < 16)
}

// The instructions clear a register, call and trap.
const maxStackEnd = 6

// EndsStack implements [frames.StackEnds]. It recognises the code to which a fiber's first function returns, to end the
// process (Boost.Context, PHP: xor edi, edi; call _exit; hlt). It is behind a jump by register or a return, and leads
// straight to a call before a trap or the function's end.
func (s *Source) EndsStack(pc frames.ModuleAddr) bool {
	if s.abi == nil || !s.behindJumpOrReturn(pc) {
		return false
	}
	a := s.analysis()
	defer a.free()
	fn := a.functionAt(pc)
	a.begin(pc, fn)
	for called, n := false, 0; n < maxStackEnd; n++ {
		if a.st.pc >= fn.hi {
			return called
		}
		f := a.step()
		switch {
		case f.kind == flowCall && !called:
			called = true
		case f.trap:
			return called
		case f.kind != flowNext:
			return false
		}
	}
	return false
}

func (s *Source) behindJumpOrReturn(pc uint64) bool {
	b := s.buf[:4]
	return pc >= 4 && s.opt.Code.ReadCode(pc-4, b) == len(b) && s.abi.endsInJump(b)
}
