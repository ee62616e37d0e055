// SPDX-License-Identifier: Apache-2.0

// Package arm64 has the rules of HotSpot's code on arm64, by its kind and the instructions around an address.
//
// # Algorithm
//
// A call leaves the return address in x30. Compiled code makes its frame in one of two ways:
//
//	sub sp, sp, #size; stp x29, x30, [sp, #size-16]
//	stp x29, x30, [sp, #-16]!; sub sp, sp, #size-16
//
//	CFA = sp + size ──► ┌───────────┐
//	                    │ x30       │ CFA − 8
//	                    │ x29       │ CFA − 16
//	                    │ …         │
//	sp ───────────────► └───────────┘
//
// CFA − sp is the frame size in the code's header, plus words pushed within the frame, which the next change of sp on
// the path shows. Before the frame is made and after it is removed, the return address is in x30 and the CFA is sp.
//
// The interpreter's x29 points to the pair, above the caller's sp. While that frame is made, the caller's sp is in a
// register that differs between releases, and is read from the interpreter's code.
//
// # Sources
//
// OpenJDK 17 to 25, src/hotspot/cpu/aarch64: frame_aarch64.hpp, macroAssembler_aarch64.cpp (build_frame, remove_frame),
// templateInterpreterGenerator_aarch64.cpp (generate_fixed_frame), interp_masm_aarch64.cpp (remove_activation),
// sharedRuntime_aarch64.cpp (adapters); Arm ARM (DDI 0487), chapter C4.
package arm64
