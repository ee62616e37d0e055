// SPDX-License-Identifier: Apache-2.0

package oracle

import "prywalk/frames"

// pendingAnswer is an answer from call frame information that describes the frame to which the code is about to jump
// (glibc's __longjmp: CFA rdi, return address in rdx). It is exact if the thread arrives there before it makes another
// call.
type pendingAnswer struct {
	j      *judge
	row    *row
	out    outcome
	chain  []want
	regs   frames.Regs
	moving bool
}

// maxAhead bounds the steps until a pending answer is judged.
const maxAhead = 40

// deferVerdict returns false if the answer cannot be of the frame that is jumped to.
func (o *run) deferVerdict(j *judge, r *outcome) bool {
	if r.verdict != wrong || r.at != 1 || r.got.Method != frames.MethodCFI && r.got.Method != frames.MethodHeuristic ||
		len(o.pending) >= maxAhead*int(NumJudges) {
		return false
	}
	o.pending = append(o.pending, pendingAnswer{j, o.tally.cur, *r, append([]want(nil), o.chain...), o.regs, o.moving})
	return true
}

// judgePending: after a jump that left frames behind (jumped), answers that describe its target are exact; at a call
// all are wrong.
func (o *run) judgePending(jumped bool) {
	for _, a := range o.pending {
		unclaimed := a.out.got.SP == 0 && o.regs.Arch == frames.ARM64
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
	if !o.deferVerdict(j, &r) {
		o.tally.between(o, o.regs.PC)
	}
}
