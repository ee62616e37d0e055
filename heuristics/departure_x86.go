// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/internal/x86"

// switchTargetX86 returns the target of a jump by register or a return. A return also pops.
func switchTargetX86(st *state, code []byte) (value, bool) {
	i, ok := x86.Decode(code)
	if !ok || i.VEX || i.Map != x86.MapOne {
		return value{}, false
	}
	switch {
	case i.Op == 0xff && i.Reg&7 == 4 && i.Mod == 3:
		return st.regs[i.RM], true
	case i.Op == 0xc3:
		ra := st.load(st.regs[hwSP])
		popX86(st, noReg)
		return ra, true
	}
	return value{}, false
}
