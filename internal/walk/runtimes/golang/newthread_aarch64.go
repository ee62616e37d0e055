// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// After the system call in runtime.clone a new thread has 0 in x0, its parent's x30 and no caller. Code after the
// parent's return runs in new threads only.

const svcARM64 = 0xd4000001

func (t *rules) createdARM64(f *funcInfo, pc uint64) (r frames.Rule, row *frames.Row, ok, newThread bool) {
	at, end := f.entry, min(f.end, f.entry+maxFlowBytes)
	for at < end && t.insnARM64(at) != svcARM64 {
		at += 4
	}
	if at >= end || pc <= at {
		return r, nil, false, false
	}
	for at < end && t.insnARM64(at) != retARM64 {
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
