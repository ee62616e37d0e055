// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// rowKey finds a row made before: by pc for rules that depend on it, else by
// delta and kind.
type rowKey struct {
	pc    uint64
	delta int32
	kind  kind
}

// maxRows bounds the rows kept.
const maxRows = 512

// Rule implements [frames.RuleSource] with exact rules. A rule whose Row cannot be applied is given where the stack
// pointer cannot be known, so that no other source guesses. A result of false means that pc lies in no function of
// the table.
func (t *Table) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	pc := q.Lookup(t.img.Arch)
	f, ok := t.find(pc)
	if !ok || f.pcsp == 0 {
		return t.ruleAtStart(q)
	}
	k, spWrite := t.kind(&f)
	if q.Caller && q.PC == f.end {
		// A return address at the start of the next function: Go's own stub
		// that returns from signals is entered so.
		if r, row, ok := t.ruleAtStart(q); ok {
			return r, row, ok
		}
	}
	if k == kindRoot {
		return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodCFI}, nil, true
	}
	delta, ok := t.pcvalue(&f, f.pcsp, pc)
	if !ok {
		return frames.Rule{}, nil, false // the padding between functions
	}
	if delta < 0 && t.img.Arch != frames.X86_64 {
		return t.refuse()
	}
	if t.img.Arch == frames.AArch64 {
		return t.ruleARM64(q, &f, k, spWrite, delta)
	}
	return t.ruleX86(q, &f, k, spWrite, delta)
}

// ruleAtStart gives the rule of a signal return stub for a return address that
// is its first instruction.
func (t *Table) ruleAtStart(q frames.Query) (frames.Rule, *frames.Row, bool) {
	f, ok := t.find(q.PC)
	if !ok || !q.Caller || f.entry != q.PC || t.img.Arch != frames.X86_64 {
		return frames.Rule{}, nil, false
	}
	if k, _ := t.kind(&f); k != kindSigreturn {
		return frames.Rule{}, nil, false
	}
	r, row := t.sigreturnX86()
	return r, row, true
}

// row gives the row for key, made by build the first time.
func (t *Table) row(key rowKey, build func() *frames.Row) *frames.Row {
	if r := t.rows[key]; r != nil {
		return r
	}
	if len(t.rows) >= maxRows {
		clear(t.rows)
	}
	r := build()
	t.rows[key] = r
	return r
}

// refusal is an expression that never has a value.
type refusal struct{}

// Eval implements [frames.Expr].
func (refusal) Eval(*frames.Regs, frames.Memory, uint64) (uint64, bool) { return 0, false }

// refuse gives a rule that stops the walk: the function has changed stacks in a
// way that cannot be followed from here.
func (t *Table) refuse() (frames.Rule, *frames.Row, bool) {
	row := t.row(rowKey{kind: kindEnds}, func() *frames.Row { return &frames.Row{CFAExpr: refusal{}} })
	return frames.Rule{Method: frames.MethodCFI}, row, true
}

// root gives the rule of a stack's outermost function.
func root() (frames.Rule, *frames.Row, bool) {
	return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodCFI}, nil, true
}
