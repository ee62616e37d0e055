// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

func TestSignalTrampolineIsRecognizedByItsInstructions(t *testing.T) {
	// mov rax,15; syscall
	s := intel(0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05)
	for _, q := range []frames.Query{{PC: base}, {PC: base, AfterCall: true}, {PC: base + 7}} {
		r, row, ok := s.Rule(q)
		if !ok || r.Flags != frames.FlagExactPC || row == nil || !row.CFADeref || row.RA.Off != 168 {
			t.Errorf("query %+v: rule %+v, %+v, %v; want a signal frame", q, r, row, ok)
		}
	}
	// mov x8,#139; svc #0
	if r, row, ok := arm(false, 0xd2801168, 0xd4000001).Rule(frames.Query{PC: base, AfterCall: true}); !ok ||
		r.Flags != frames.FlagExactPC || row.RA.Off != 568 {
		t.Errorf("arm64: rule %+v, %+v, %v; want a signal frame", r, row, ok)
	}
}

func TestCallThroughAPLTIsIndirect(t *testing.T) {
	// call +2; nop; nop; endbr64; bnd jmp [rip+0]
	s := intel(0xe8, 2, 0, 0, 0, 0x90, 0x90, 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0)
	if c, ok := s.CallBefore(base + 5); !ok || c.Direct {
		t.Errorf("call %+v, %v; want an indirect one", c, ok)
	}
}

// The PLT has pushed two words before the resolver.
func TestLazyBindingReturnsThroughR11(t *testing.T) {
	// push rbx; mov rbx,rsp; and rsp,-64; nop; mov rsp,rbx; mov rbx,[rsp]; add rsp,24; jmp r11
	code := []byte{0x53, 0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xc0, 0x90, 0x48, 0x89, 0xdc,
		0x48, 0x8b, 0x1c, 0x24, 0x48, 0x83, 0xc4, 0x18, 0x41, 0xff, 0xe3}
	s := New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}, Funcs: oneFunc{base, base + uint64(len(code))}})
	want(t, s, 0, frames.X86RSP, 24, frames.MethodHeuristic)
	want(t, s, 1, frames.X86RSP, 32, frames.MethodHeuristic)
	want(t, s, 8, frames.X86RBX, 32, frames.MethodHeuristic)
}

// Go's compiler puts one no-op after such a call. The call of morestack follows, with the stack as at the entry.
func TestCallThatDoesNotReturnBeforeAnotherBlock(t *testing.T) {
	code := []byte{
		0x49, 0x3b, 0x66, 0x10, // cmp rsp,[r14+16]
		0x76, 0x10, // jbe more
		0x55, 0x48, 0x89, 0xe5, // push rbp; mov rbp,rsp
		0x48, 0x83, 0xec, 0x10, // sub rsp,16
		0x90, 0x90, // nop; nop
		0xe8, 0x11, 0, 0, 0, 0x90, // call; nop
		0xe8, 0x11, 0, 0, 0, // more: call
		0xeb, 0xe3, // jmp start
	}
	s := New(Options{Arch: frames.X86_64, JIT: true, Code: bytesCode{base, code},
		Funcs: oneFunc{base, base + uint64(len(code))}})
	want(t, s, 22, frames.X86RSP, 8, frames.MethodHeuristic)
}

type parts struct{ f, cold oneFunc }

func (p parts) FuncRange(pc uint64) (uint64, uint64, bool) {
	if lo, hi, ok := p.f.FuncRange(pc); ok {
		return lo, hi, ok
	}
	return p.cold.FuncRange(pc)
}

func (p parts) Parent(start uint64) (uint64, uint64, bool) {
	return p.f.lo, p.f.hi, start == p.cold.lo
}

func TestLandingPadsHaveTheFrameOfTheirFunction(t *testing.T) {
	code := []byte{
		0x53, 0x48, 0x83, 0xec, 0x20, // push rbx; sub rsp,32
		0xe8, 0x20, 0, 0, 0, // call
		0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3, // add rsp,32; pop rbx; ret
		0x48, 0x89, 0xc7, 0xe8, 0x20, 0, 0, 0, // cold: mov rdi,rax; call _Unwind_Resume
	}
	p := parts{oneFunc{base, base + 16}, oneFunc{base + 16, base + uint64(len(code))}}
	s := New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}, Funcs: p})
	r := want(t, s, 16, frames.X86RSP, 48, frames.MethodHeuristic)
	if r.Saved[1] != 2 {
		t.Errorf("rbx is saved at CFA-%d, want CFA-16", 8*r.Saved[1])
	}
}
