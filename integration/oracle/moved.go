// SPDX-License-Identifier: Apache-2.0

package oracle

import "prywalk/frames"

// A function can move its return address: libffi's ffi_call_unix64 copies it to the far end of the room that its caller
// has made, and returns from there. The shadow stack follows the call frame information, if the return address is at
// the new place, and the return must confirm it.

func (o *run) acceptMoved(j *judge, r *outcome) bool {
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

// Until the stack pointer has passed the place of the call, that one is right, too.
func (o *run) acceptUnmoved(r *outcome) bool {
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
