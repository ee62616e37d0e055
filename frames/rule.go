// SPDX-License-Identifier: Apache-2.0

package frames

import "math"

// Method is how a frame was found (package comment, "Methods").
type Method uint8

// The methods are in order of falling trust. The zero value is invalid.
const (
	MethodNone      Method = iota
	MethodContext          // the thread's registers
	MethodCFI              // call frame information, or a runtime's tables
	MethodFP               // frame pointer
	MethodHeuristic        // analysis of instructions
	MethodScan             // the first word on the stack that follows a call
	NumMethods
)

var methodNames = [NumMethods]string{"none", "context", "cfi", "fp", "heuristic", "scan"}

// String returns the name in JSON.
func (m Method) String() string { return methodNames[m%NumMethods] }

// Flags are properties of a rule.
type Flags uint8

// The flags of a rule.
const (
	// FlagRoot means that there is no caller, and the stack is complete.
	FlagRoot Flags = 1 << iota
	// FlagExactPC means that the caller's program counter is no return address. The code is a signal trampoline, or
	// continues another frame (longjmp, Go's gogo), maybe on another stack. With a Row, all registers may be the caller's.
	FlagExactPC
	FlagRAInLR // the return address is in the link register (arm64)
	// FlagStackSwitch means that the caller is on another stack (Go's systemstack).
	FlagStackSwitch
	// FlagNoRule means that there is no rule, and that further sources are not asked.
	FlagNoRule
	// FlagWithin means that the PC of a Query with AfterCall is in the function of the call, by call frame information.
	FlagWithin
)

// NumCompact is the number of registers of a [Rule].
const NumCompact = 8

// Rule is the step from a frame to its caller, in 16 bytes:
//
//	CFA            = CFAReg + CFAOff
//	return address at CFA − 8 (x86-64), or where the link register was saved (arm64)
//	saved register at CFA − 8 × Saved[i]
//
// Other steps need a [Row].
type Rule struct {
	CFAOff int32
	CFAReg uint8 // DWARF number
	Flags  Flags
	Method Method
	// Saved is (CFA − place) / 8, 1 to 255, for each of Arch.CompactRegs; 0 means that it is still in the register.
	Saved [NumCompact]uint8
}

// SavedUnits converts an offset from the CFA to [Rule.Saved]'s unit; false if it does not fit.
func SavedUnits(off int64) (uint8, bool) {
	if off >= 0 || off%8 != 0 || off < -8*math.MaxUint8 {
		return 0, false
	}
	return uint8(-off / 8), true
}
