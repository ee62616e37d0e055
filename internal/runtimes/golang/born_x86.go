// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// A new thread begins in the middle of runtime.clone, behind the system call, with 0 in rax and on a stack on which
// nobody is the caller. In the thread that made the call rax has the other one's number. At the same instructions
// both are to be told apart (runtime/sys_linux_amd64.s).

// behindCall reports whether pc is behind the first system call of a function.
func (t *Table) behindCall(f *fn, pc uint64) bool {
	for _, off := range t.flow(f).offs {
		var b [2]byte
		if t.img.read(f.entry+uint64(off), b[:]) && b == [2]byte{0x0f, 0x05} {
			return pc >= f.entry+uint64(off)+2
		}
	}
	return false
}

// bornX86 gives the rule behind the call: the return address is at CFA-8, but for a new
// thread there is none.
func (t *Table) bornX86(cfa int32) (frames.Rule, *frames.Row, bool) {
	row := t.row(rowKey{kind: kindEnds, delta: cfa}, func() *frames.Row {
		return &frames.Row{CFAReg: frames.X86RSP, CFAOff: int64(cfa), RA: frames.RegRule{Kind: frames.RuleValExpr,
			Expr: parentOnly{}}}
	})
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: cfa, Method: frames.MethodCFI}, row, true
}

// parentOnly is the return address of the thread that has made another; 0, for the end
// of the stack, in the new one.
type parentOnly struct{}

// Eval implements [frames.Expr].
func (parentOnly) Eval(regs *frames.Regs, mem frames.Memory, cfa uint64) (uint64, bool) {
	if ax, ok := regs.Get(frames.X86RAX); !ok || ax == 0 {
		return 0, ok
	}
	return mem.Word(cfa - 8)
}
