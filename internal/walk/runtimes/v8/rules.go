// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// # Rules
//
// V8's run-time code saves only the caller's frame pointer. The analysis of instructions finds that except in code of
// unknown end, and where deoptimized code returns to the first instruction of a builtin
// (InterpreterEnterAtNextBytecode).

var byFramePointer = map[frames.Arch]*frames.Row{
	frames.X86_64: {
		CFAReg: frames.X86RBP, CFAOff: 16,
		RA: frames.RegRule{Kind: frames.RuleOffset, Off: -8},
		Regs: [frames.NumRegs]frames.RegRule{
			frames.X86RBP: {Kind: frames.RuleOffset, Off: -16},
			frames.X86RBX: {Kind: frames.RuleUndefined},
			frames.X86R12: {Kind: frames.RuleUndefined},
			frames.X86R13: {Kind: frames.RuleUndefined},
			frames.X86R14: {Kind: frames.RuleUndefined},
			frames.X86R15: {Kind: frames.RuleUndefined},
		},
	},
}

func ruleOf(arch frames.Arch) (frames.Rule, *frames.Row, bool) {
	row := byFramePointer[arch]
	if row == nil {
		return frames.Rule{}, nil, false
	}
	rule, _ := row.Compact(arch, frames.MethodCFI, 0)
	return rule, row, true
}

type jitRules struct{ r *Runtime }

// Rule implements [frames.RuleSource].
func (r jitRules) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	arch := r.r.host.Arch()
	if !q.AfterCall || q.SPOnly || r.r.codeAt(q.LookupPC(arch)) == nil {
		return frames.Rule{}, nil, false
	}
	return ruleOf(arch)
}

type hostLive struct{ managed.Host }

// Unchanged implements [managed.Live].
func (hostLive) Unchanged() bool { return false }

func (r *Runtime) addRules(h managed.Host) {
	for _, m := range managed.Unowned(h) {
		managed.AddSource(m, jitRules{r})
	}
}
