// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"

	"prywalk/frames"
)

// sigreturn returns the row of a signal trampoline: two instructions, which call rt_sigreturn. It is nil for other
// code.
func (s *Source) sigreturn(q frames.Query) *frames.Row {
	code, second, row := sigreturnOf(s.opt.Arch)
	for _, c := range code {
		for _, back := range [...]int{0, len(c) - second} {
			if back > 0 && (q.Caller || q.PC < uint64(back)) {
				continue
			}
			b := s.buf[:len(c)]
			if s.opt.Code.ReadCode(q.PC-uint64(back), b) == len(b) && bytes.Equal(b, c) {
				return row
			}
		}
	}
	return nil
}

func sigreturnOf(arch frames.Arch) (code [][]byte, second int, row *frames.Row) {
	if arch == frames.AArch64 {
		return sigreturnCodeAArch64, 4, sigreturnAArch64
	}
	return sigreturnCodeX86, 2, sigreturnX86
}

// SignalRow returns the row of the kernel's signal trampoline.
func SignalRow(arch frames.Arch) *frames.Row {
	_, _, row := sigreturnOf(arch)
	return row
}

// signalRow makes a row whose registers, by DWARF number, are at offsets from the stack pointer.
func signalRow(sp uint8, regs []int64, pc int64) *frames.Row {
	row := &frames.Row{CFAReg: sp, CFAOff: regs[sp], CFADeref: true, RA: frames.RegRule{Kind: frames.RuleRegOffset,
		Reg: sp, Off: pc}}
	for reg, off := range regs {
		if reg != int(sp) {
			row.Regs[reg] = frames.RegRule{Kind: frames.RuleRegOffset, Reg: sp, Off: off}
		}
	}
	return row
}
