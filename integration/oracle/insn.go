// SPDX-License-Identifier: Apache-2.0

package oracle

import "prywalk/frames"

// kind is what an instruction does to the caller chain.
type kind uint8

const (
	plain kind = iota
	call
	ret
	system
	trap
	jumpTo // by a register (arm64)
)

// insnKind classifies the instruction at the start of b.
func insnKind(arch frames.Arch, b []byte) kind {
	if arch == frames.AArch64 {
		return kindAArch64(b)
	}
	return kindX86(b)
}
