// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"encoding/binary"
	"math"
)

// Method says how the frame that a rule leads to was found, in falling trust.
type Method uint8

// The methods. The zero value is none of them.
const (
	MethodNone      Method = iota
	MethodContext          // the thread's own registers: the innermost frame
	MethodCFI              // call frame information, or Go's tables
	MethodFP               // a frame pointer, proven
	MethodHeuristic        // analysis of the function's instructions
	MethodScan             // the first word on the stack that follows a call
	NumMethods
)

// String gives the name that recordings and JSON use.
func (m Method) String() string {
	switch m {
	case MethodContext:
		return "context"
	case MethodCFI:
		return "cfi"
	case MethodFP:
		return "fp"
	case MethodHeuristic:
		return "heuristic"
	case MethodScan:
		return "scan"
	}
	return "none"
}

// Flags tell what is special about a rule.
type Flags uint8

// The flags of a rule.
const (
	// FlagRoot: the function has no caller; the stack is complete.
	FlagRoot Flags = 1 << iota
	// FlagSignal: a signal trampoline. Its caller was interrupted: its program
	// counter is exact, all its registers are restored, and its stack may be
	// another one.
	FlagSignal
	// FlagRow: the rule did not fit; its Row holds it.
	FlagRow
	// FlagLeafRA: the return address is still in the link register (arm64).
	FlagLeafRA
	// FlagSwitch: the caller's stack is another one (Go's systemstack), so
	// that the CFA need not rise.
	FlagSwitch
	// FlagLoss: registers of the caller that a callee should keep are lost, as in code of JIT
	// compilers. It is for rules inside of the cache; a source gives a Row instead.
	FlagLoss
	// FlagNone marks, inside of the cache, a pc for which no source has a rule.
	FlagNone
)

// NumCompact is the number of registers that a [Rule] has a place for.
const NumCompact = 8

// Rule tells how to get from a frame to its caller, in 16 bytes. The CFA is a
// register plus an offset. The return address lies at CFA−8 (x86-64) or where
// the link register was saved (arm64). Each saved register lies a multiple
// of eight bytes below the CFA. What does not fit is in a [Row].
type Rule struct {
	// CFAOff is added to the register CFAReg to get the CFA.
	CFAOff int32
	// CFAReg is the DWARF number of the register that the CFA is relative to.
	CFAReg uint8
	Flags  Flags
	Method Method
	// lost has a bit for each of Arch.CompactRegs whose value is lost, with FlagLoss.
	lost uint8
	// Saved has, for each of Arch.CompactRegs, the distance of its place below
	// the CFA in units of 8 bytes, 1 to 255; 0: the caller's value is still in
	// the register. With FlagRow the first four bytes are the Row's index.
	Saved [NumCompact]uint8
}

// row gives the index that setRow stored.
func (r *Rule) row() uint32 { return binary.LittleEndian.Uint32(r.Saved[:]) }

// setRow turns the rule into a reference to a Row in the Space's table.
func (r *Rule) setRow(i uint32) {
	r.Flags |= FlagRow
	binary.LittleEndian.PutUint32(r.Saved[:], i)
}

// loses reports whether the caller's value of that compact register is lost.
func (r *Rule) loses(i int) bool { return r.lost>>i&1 != 0 }

// SavedUnits converts a CFA-relative offset into the unit of [Rule.Saved]; false
// if it does not fit.
func SavedUnits(off int64) (uint8, bool) {
	if off >= 0 || off%8 != 0 || off < -8*math.MaxUint8 {
		return 0, false
	}
	return uint8(-off / 8), true
}
