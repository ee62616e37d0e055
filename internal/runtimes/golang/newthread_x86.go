// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// After the system call in runtime.clone a new thread has 0 in rax and no caller.

func (t *rules) afterSyscall(f *funcInfo, pc uint64) bool {
	for _, off := range t.stackFlow(f).offs {
		var b [2]byte
		if t.img.read(f.entry+uint64(off), b[:]) && b == [2]byte{0x0f, 0x05} { // syscall
			return pc >= f.entry+uint64(off)+2
		}
	}
	return false
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
