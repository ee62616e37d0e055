// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"

	"prywalk/frames"
)

// trampoline describes the kernel's signal trampoline: two instructions that call rt_sigreturn.
type trampoline struct {
	sigreturn  [][]byte // its forms
	syscallLen int      // length of the second instruction
	signalRow  *frames.Row
}

// sigreturnRow returns the row of a trampoline, nil for other code.
func (s *Source) sigreturnRow(q frames.Query) *frames.Row {
	for _, c := range s.abi.sigreturn {
		for _, back := range [...]int{0, len(c) - s.abi.syscallLen} {
			if back > 0 && (q.Caller || q.PC < uint64(back)) {
				continue
			}
			b := s.buf[:len(c)]
			if s.opt.Code.ReadCode(q.PC-uint64(back), b) == len(b) && bytes.Equal(b, c) {
				return s.abi.signalRow
			}
		}
	}
	return nil
}

// SignalRow returns the row of the kernel's signal trampoline. Precondition: arch is not [frames.ArchUnknown].
func SignalRow(arch frames.Arch) *frames.Row { return abis[arch].signalRow }

// rowOfSignal makes a row of registers, by DWARF number, at offsets from the stack pointer.
func rowOfSignal(sp uint8, regs []int64, pc int64) *frames.Row {
	row := &frames.Row{CFAReg: sp, CFAOff: regs[sp], CFADeref: true, RA: frames.RegRule{Kind: frames.RuleRegOffset,
		Reg: sp, Off: pc}}
	for reg, off := range regs {
		if reg != int(sp) {
			row.Regs[reg] = frames.RegRule{Kind: frames.RuleRegOffset, Reg: sp, Off: off}
		}
	}
	return row
}
