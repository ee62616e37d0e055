// SPDX-License-Identifier: Apache-2.0

package oracle

import "prywalk/frames"

// A function can move its return address. libffi's ffi_call_unix64 copies it to the far end of the room that its caller
// has made, and gives up the stack below that. It calls on, and returns from there. Its caller then has another stack
// pointer than at the call, and goes by its frame pointer.
//
// The shadow stack cannot see when an address that lies in two places is moved from one to the other. So it is moved
// when call frame information first says so, if the return address does lie there. What proves it is the return: it has
// to come from there, with that stack pointer. As long as the function has not given up the place of the call, the
// address lies there, too: a name of that place is right as well.

// moves takes note of a caller that is said to have another stack pointer, and reports whether that may be.
func (o *run) moves(j *judge, r *outcome) bool {
	n := len(o.cur.calls)
	if r.verdict != wrong || r.at != 1 || j.kind != WithCFI || r.got.Method != frames.MethodCFI || n == 0 ||
		o.regs.Arch != frames.X86_64 {
		return false
	}
	a := &o.cur.calls[n-1]
	if a.was != 0 {
		return false
	}
	word, ok := liveMemory(o.pid).Word(r.got.SP - 8)
	if r.got.PC != a.pc || r.got.SP <= a.sp || !ok || word != a.pc {
		return false
	}
	a.was, a.slot, a.sp = a.slot, r.got.SP-8, r.got.SP
	o.chain[1].sp = a.sp
	return true
}

// inBothPlaces reports whether an answer names the place of the call, while an address that was moved still lies there.
// The true chain is then that answer's.
func (o *run) inBothPlaces(r *outcome) bool {
	n := len(o.cur.calls)
	if r.verdict != wrong || r.at != 1 || n == 0 {
		return false
	}
	a := &o.cur.calls[n-1]
	if a.was == 0 || o.regs.SP() > a.was || r.got.PC != a.pc || r.got.SP != a.was+8 {
		return false
	}
	o.chain[1].sp = r.got.SP
	return true
}

// returnsMoved judges, after an instruction, whether a return address that was moved is returned to as was said.
func (o *run) returnsMoved(k kind) {
	n := len(o.cur.calls)
	if n == 0 || o.cur.calls[n-1].was == 0 {
		return
	}
	a, sp := &o.cur.calls[n-1], o.regs.SP()
	back := k == ret && o.regs.PC == a.pc
	switch {
	case back && sp == a.sp:
		o.tally.moved++
	case back || sp > a.slot:
		o.tally.strayed++
		a.slot = min(a.was, sp-8)
	}
}
