// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"strings"

	"prywalk/frames"
)

// interpreterName is the code in which HotSpot calls by a push of the return address and a jump through a method's
// entry, and returns by a jump (jump_from_interpreted, TemplateTable::_return).
const interpreterName = "Interpreter"

func (o *javaRun) follow(code []byte) error {
	sp, pc := o.regs.SP(), o.regs.PC
	switch kind := kindX86(code); {
	case kind == call:
		if o.kind(o.prev.PC) == interpreterName && o.kind(pc) == interpreterName {
			return nil // within a frame: MacroAssembler::call_VM calls the instructions behind the next one
		}
		if back := o.word(sp); sp == o.prev.SP()-8 && back > o.prev.PC && back-o.prev.PC <= maxInsn {
			o.calls = append(o.calls, javaCall{pc: back, slot: sp, kept: sp})
			return nil
		}
	case kind == ret:
		o.drop(sp)
		if o.back(pc, sp) || o.kind(o.prev.PC) == interpreterName && o.kind(pc) == interpreterName {
			return nil
		}
		if o.pushed != o.prev.SP() {
			o.tally.lost(o, "return elsewhere from "+o.kind(o.prev.PC))
			return errLost
		}
	case pushes(code) && sp == o.prev.SP()-8:
		o.pushed = sp
		if n := len(o.calls); n > 0 && o.calls[n-1].popped && o.word(sp) == o.calls[n-1].pc {
			o.calls[n-1].kept, o.calls[n-1].popped = sp, false
		}
	default:
		form := jumps(code)
		if form == noJump {
			break
		}
		o.drop(sp)
		if o.back(pc, sp) || o.landed(pc, sp) {
			return nil
		}
		if back := o.word(sp); form == jumpEntry && !o.handedOn(sp, back) && o.kind(o.prev.PC) == interpreterName &&
			o.kind(back) == interpreterName {
			o.calls = append(o.calls, javaCall{pc: back, slot: sp, kept: sp})
		}
	}
	o.drop(sp)
	if n := len(o.calls); n > 0 && sp == o.calls[n-1].kept+8 && o.prev.SP() < sp {
		o.calls[n-1].popped = true
	}
	if k := strings.ToLower(o.kind(pc)); strings.Contains(k, "deopt") || strings.Contains(k, "uncommon") ||
		strings.Contains(k, "exception") {
		o.tally.lost(o, "a frame is being replaced, or ended by an exception")
		return errLost
	}
	return nil
}

// If a return address is not in its slot, an exception has ended a frame, or the machine has replaced it.
func (o *javaRun) callersOnStack(n int) bool {
	for i := 1; i <= min(n, len(o.calls)); i++ {
		if c := &o.calls[len(o.calls)-i]; c.kept != 0 && !c.popped && o.word(c.kept) != c.pc {
			return false
		}
	}
	return true
}

// handedOn reports whether the return address at sp is that of the frame that a jump to another piece leaves: in its
// place, or right below where the stack is aligned for a compiled loop.
func (o *javaRun) handedOn(sp, back uint64) bool {
	n := len(o.calls)
	if n == 0 {
		return false
	}
	c := &o.calls[n-1]
	return c.pc == back && (c.kept == sp && !c.popped || sp <= c.slot && c.slot-sp <= 24)
}

// drop removes the callers whose frames the stack pointer has passed. An adapter for method handles moves its return
// address (generate_method_handle_dispatch, pop_reg).
func (o *javaRun) drop(sp uint64) {
	if n := len(o.calls); n > 0 && sp == o.calls[n-1].slot+16 && o.kind(o.prev.PC) == "MethodHandles adapters" {
		o.calls[n-1].slot += 8
		return
	}
	for n := len(o.calls); n > 0 && sp > o.calls[n-1].slot+8; n-- {
		o.calls = o.calls[:n-1]
		o.base = min(o.base, n-1)
	}
}

// alignment, in bytes: a return may leave the stack pointer lower than the call, as adapters into compiled code align
// it.
const alignment = 256

func (o *javaRun) back(pc, sp uint64) bool {
	n := len(o.calls)
	if n == 0 || o.calls[n-1].pc != pc || sp+alignment < o.calls[n-1].slot {
		return false
	}
	o.calls = o.calls[:n-1]
	if n-1 < o.base {
		o.base = n - 1
		o.tally.confirmed++
	}
	return true
}

// landed removes the innermost caller if control is in its handler for exceptions: a stub has popped its own return
// address, and jumped into the piece that it would have returned to (OptoRuntime::rethrow_stub,
// generate_forward_exception).
func (o *javaRun) landed(pc, sp uint64) bool {
	n := len(o.calls)
	if n == 0 {
		return false
	}
	c := &o.calls[n-1]
	if !c.popped || sp != c.kept+8 && sp != c.slot+8 {
		return false
	}
	within := o.kind(pc) == interpreterName && o.kind(c.pc) == interpreterName
	if piece := o.piece(c.pc); !within && (piece == 0 || o.piece(pc) != piece) {
		return false
	}
	o.calls = o.calls[:n-1]
	o.base = min(o.base, n-1)
	return true
}

type jump uint8

const (
	noJump jump = iota
	jumpAny
	jumpEntry
)

func jumps(b []byte) jump {
	for len(b) > 0 && prefixX86(b[0]) {
		if b[0]&0xf1 == 0x41 {
			return jumpOf(b[1:], jumpAny)
		}
		b = b[1:]
	}
	return jumpOf(b, jumpEntry)
}

func jumpOf(b []byte, entry jump) jump {
	if len(b) < 2 || b[0] != 0xff || b[1]>>3&7 != 4 {
		return noJump
	}
	if mod := b[1] >> 6; b[1]&7 == 3 && (mod == 1 || mod == 2) {
		return entry
	}
	return jumpAny
}

func pushes(b []byte) bool {
	for len(b) > 0 && b[0]&0xf0 == 0x40 {
		b = b[1:]
	}
	return len(b) > 1 && (b[0]&^7 == 0x50 || b[0] == 0x68 || b[0] == 0x6a || b[0] == 0xff && b[1]>>3&7 == 6)
}

func (o *javaRun) check() error {
	at, bad := 0, false
	stop := o.walk(func(f *frames.Frame) {
		if bad {
			return
		}
		if want := o.want(at); f.PC != want && !o.patched(at, f.PC) {
			bad = true
			return
		}
		at++
	})
	n := len(o.calls) + 1
	v := exact
	switch {
	case bad:
		v = wrong
	case at < n && stop == frames.StopRoot:
		v = wrong
	case at < n || stop != frames.StopRoot:
		v = short
	}
	if v == exact {
		at = 1
	}
	if v == wrong && !o.callersOnStack(at) {
		o.tally.lost(o, "a caller's return address is gone")
		return errLost
	}
	o.tally.count(o, o.want(max(at-1, 0)), at > 1, v)
	if v != exact {
		o.explain([]string{"", "short", "wrong"}[v], at, stop)
	}
	return nil
}

// patched reports whether the machine has replaced a return address by the entry for replacing a frame, in the same
// piece and place (frame::patch_pc).
func (o *javaRun) patched(i int, pc uint64) bool {
	if i == 0 || i > len(o.calls) {
		return false
	}
	c := &o.calls[len(o.calls)-i]
	if o.word(c.slot) != pc || pc == c.pc || o.kind(pc) != "nmethod" || o.kind(c.pc) != "nmethod" {
		return false
	}
	c.pc = pc
	return true
}

func (o *javaRun) want(i int) uint64 {
	if i == 0 {
		return o.regs.PC
	}
	if i > len(o.calls) {
		return 0
	}
	return o.calls[len(o.calls)-i].pc
}
