// SPDX-License-Identifier: Apache-2.0

package oracle

import "prywalk/frames"

type kind uint8

const (
	plain kind = iota
	call
	ret
	system
	trap
	jumpTo
)

func insnKind(arch frames.Arch, b []byte) kind {
	if arch == frames.ARM64 {
		return kindARM64(b)
	}
	return kindX86(b)
}
