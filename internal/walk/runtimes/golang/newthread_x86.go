// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"slices"

	"prywalk/frames"
)

// After the system call in runtime.clone a new thread has 0 in rax and no caller.

func (t *rules) afterSyscall(f *funcInfo, pc uint64) bool {
	flow := t.stackFlow(f)
	i := slices.IndexFunc(flow.insns, func(in insn) bool { return in.Map == 1 && in.Op == 0x05 }) // syscall
	return i >= 0 && pc > f.entry+uint64(flow.offs[i])
}

func createdX86(cfa int32) (frames.Rule, *frames.Row, bool) {
	row := &frames.Row{CFAReg: frames.X86RSP, CFAOff: int64(cfa)}
	row.RA = frames.RegRule{Kind: frames.RuleValExpr, Expr: parentOnly{}}
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: cfa, Method: frames.MethodCFI}, row, true
}

// parentOnly is the return address, and 0 (outermost) in the new thread.
type parentOnly struct{}

// Eval implements [frames.Expr].
func (parentOnly) Eval(regs *frames.Regs, mem frames.Memory, cfa uint64) (uint64, bool) {
	if ax, ok := regs.Get(frames.X86RAX); !ok || ax == 0 {
		return 0, ok
	}
	return mem.Word(cfa - 8)
}
