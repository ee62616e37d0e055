// SPDX-License-Identifier: Apache-2.0

package oracle

import "prywalk/frames"

// ahead is an answer that differs from the observed callers. The call frame information describes the frame that
// the code is about to jump to. Its registers are loaded already (longjmp, setcontext: glibc's __longjmp has CFA
// rdi, return address in rdx). It is right if the thread does arrive there, before it makes another call.
type ahead struct {
	j   *judge
	row *row
	out outcome
	// chain and regs are those of the time of the answer, for the report if it turns out wrong.
	chain []want
	regs  frames.Regs
	// moving: there was nothing to compare with at the time.
	moving bool
}

const maxAhead = 40

// awaits sets an answer aside until it is seen where the code goes; false if there is nothing to wait for.
func (o *run) awaits(j *judge, r *outcome) bool {
	if r.verdict != wrong || r.at != 1 || r.got.Method != frames.MethodCFI && r.got.Method != frames.MethodHeuristic ||
		len(o.pending) >= maxAhead*int(NumJudges) {
		return false
	}
	o.pending = append(o.pending, ahead{j, o.tally.cur, *r, append([]want(nil), o.chain...), o.regs, o.moving})
	return true
}

// popAhead judges the answers set aside: after a jump that left frames behind, by where it led; at a call
// they were wrong.
func (o *run) popAhead(jumped bool) {
	for _, a := range o.pending {
		unclaimed := a.out.got.SP == 0 && o.regs.Arch == frames.AArch64
		arrived := jumped && a.out.got.PC == o.regs.PC && (a.out.got.SP == o.regs.SP() || unclaimed)
		if arrived && a.moving {
			o.tally.moving--
			o.tally.ahead++
			continue
		}
		if a.moving {
			o.tally.between(o, a.regs.PC)
			continue
		}
		if arrived {
			a.row.by[a.j.kind][exact]++
			if a.j.kind == WithCFI {
				o.tally.ahead++
			}
			continue
		}
		chain, regs, row := o.chain, o.regs, o.tally.cur
		o.chain, o.regs, o.tally.cur = a.chain, a.regs, a.row
		o.tally.count(o, a.j, &a.out)
		o.chain, o.regs, o.tally.cur = chain, regs, row
	}
	o.pending = o.pending[:0]
}

func (o *run) checkMoving() {
	j := o.judges[WithCFI]
	o.chain = append(o.chain[:0], want{o.regs.PC, o.regs.SP()}, want{})
	r := j.compare(&o.regs, liveMemory(o.pid), o.chain, true, 0)
	if !o.awaits(j, &r) {
		o.tally.between(o, o.regs.PC)
	}
}
