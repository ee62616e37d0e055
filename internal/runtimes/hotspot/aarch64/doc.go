// SPDX-License-Identifier: Apache-2.0

// Package aarch64 knows how the frames of HotSpot's code look on arm64, by what a piece of code is and by the few
// instructions around an address.
//
// # Algorithm
//
// A call leaves the return address in x30. Compiled code makes its frame in one of two ways, and gives it up likewise:
//
//	sub sp, sp, #size; stp x29, x30, [sp, #size-16]
//	stp x29, x30, [sp, #-16]!; sub sp, sp, #size-16
//
// So the pair lies right below the CFA, which is so far above sp as the header of the code says. Words that are pushed
// inside of the frame are popped again on the way: the first change of sp that lies ahead tells how many there are.
// Before the frame is made, and behind its end, the return address is in x30 and the CFA is sp.
//
// The interpreter has its frames by x29, which points to the pair. Below that is the stack pointer that the caller had,
// since a compiled caller's frame may have been extended for arguments. While the frame is being made that stack
// pointer is in a register. Which one differs between releases, and is read out of the interpreter itself.
//
// Sources: OpenJDK 17 to 25, src/hotspot/cpu/aarch64: frame_aarch64.hpp (the interpreter's frame),
// macroAssembler_aarch64.cpp (build_frame, remove_frame), templateInterpreterGenerator_aarch64.cpp
// (generate_fixed_frame), interp_masm_aarch64.cpp (remove_activation), sharedRuntime_aarch64.cpp (adapters); Arm ARM
// (DDI 0487), chapter C4.
package aarch64
