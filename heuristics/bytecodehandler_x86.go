// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/internal/x86"

// tableRegLoadedX86 returns the register loaded by mov r, [table+r*8], where table is callee-saved (V8's r15), else
// noReg.
func tableRegLoadedX86(code []byte) uint8 {
	i, ok := x86.Decode(code)
	if !ok || i.VEX || i.Map != x86.MapOne || i.Op != 0x8b || !i.W || i.Mod == 3 || i.Index == noReg || i.Base == noReg ||
		i.Prefix != 0 {
		return noReg
	}
	if i.Base != hwBX && (i.Base < 12 || i.Base > 15) {
		return noReg
	}
	return i.Reg
}

func jumpsByX86(code []byte, reg uint8) bool {
	i, ok := x86.Decode(code)
	return ok && !i.VEX && i.Map == x86.MapOne && i.Op == 0xff && i.Reg&7 == 4 && i.Mod == 3 && i.RM == reg
}
