// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"bytes"
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// beam finds the frame of Erlang's JIT code (OTP 24 on), which runs with sp in an Erlang process's heap. process_main
// jumps once per scheduler thread to the entry, which keeps none of the caller's registers and leaves rbx pointing to
// the C stack. Calls between Erlang functions are not found.
//
// Source: erts/emulator/beam/jit/x86/process_main.cpp (emit_process_main).
type beam struct {
	process *process
	below   uint64 // C stack below rbx, in bytes
	size    uint64 // up to the return address, without alignment
	frame   *managed.VerifiedRule
	tries   int
}

var (
	beamAlign = []byte{0x48, 0x83, 0xe4, 0xc0} // and rsp, −64
	beamRegs  = []byte{0x48, 0x8d, 0x9c, 0x24} // lea rbx, [rsp + …]
	beamRoom  = []byte{0x48, 0x81, 0xec}       // sub rsp, …
)

const (
	beamEntry    = 64 // bytes
	maxBeamWords = 8
	maxBeamFrame = 1 << 20
	maxBeamTries = 64 // searches of a module
)

func findBeam(r *Runtime) bool {
	b := &beam{process: &r.process}
	b.frame = managed.NewVerifiedRule(b.prove, nil)
	for _, reg := range compactX86 { // the others are lost
		b.frame.Row.Regs[reg] = frames.RegRule{Kind: frames.RuleUndefined}
	}
	r.Early = ruleFunc(b.rule)
	return b.process.entry != 0
}

func (b *beam) learn() bool {
	for _, m := range b.process.host.Modules() {
		if b.size == 0 && m.Generated && b.tries < maxBeamTries {
			b.tries++
			b.process.eachText(m, beamEntry, b.findEntry)
		}
	}
	return b.size != 0
}

// findEntry finds sub rsp, size; and rsp, −64; …; lea rbx, [rsp + …].
func (b *beam) findEntry(_ uint64, code []byte) bool {
	for at := 0; ; at++ {
		i := bytes.Index(code[at:], beamAlign)
		if i < 0 || at+i+beamEntry > len(code) {
			return false
		}
		if at += i; at < 7 || !bytes.HasPrefix(code[at-7:], beamRoom) {
			continue
		}
		regs := bytes.Index(code[at:at+beamEntry-8], beamRegs)
		if regs < 0 {
			continue
		}
		size := binary.LittleEndian.Uint32(code[at-4:])
		below := binary.LittleEndian.Uint32(code[at+regs+4:])
		if size < maxBeamFrame && below < size {
			b.size, b.below = uint64(size), uint64(below)
			return true
		}
	}
}

func (b *beam) rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	r, row, _ := b.frame.Rule(q)
	r.Flags = frames.FlagStackSwitch
	return r, row, true
}

func (b *beam) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	rbx, known := regs.Get(frames.X86RBX)
	if !known || rbx%8 != 0 || b.size == 0 && !b.learn() || rbx < b.below {
		return 0, 0, false
	}
	return b.process.oneCall(mem, rbx-b.below+b.size, maxBeamWords, b.process.entry)
}
