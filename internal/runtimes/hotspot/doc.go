// SPDX-License-Identifier: Apache-2.0

// Package hotspot walks and names the frames of Java virtual machines (HotSpot), by the machine's own tables.
//
// # Algorithm
//
// Compiled code uses rbp as a general register and ends in jumps to common stubs, so neither frame pointers nor
// instructions suffice. But each code blob (compiled method, stub, interpreter) has a header with its frame size.
// libjvm.so describes its structures for debuggers (serviceability agent): gHotSpotVMStructs lists fields with offsets,
// gHotSpotVMTypes sizes of types.
//
//	code cache: heaps     │ segment │ segment │ segment │ …
//	segment map           │    0    │    1    │    2    │   one byte each: how far back the block begins
//	block                 │ HeapBlock header │ CodeBlob header │ code │ …
//
//	frame of a blob with a frame size        higher addresses
//	  CFA                  = sp + frame size
//	  CFA −  8             return address
//	  CFA − 16             caller's rbp
//	  sp                   …                 lower addresses
//
// Rules, by kind of blob:
//
//   - Compiled code: in the innermost frame the size holds from the header's frame-complete offset to the epilogue.
//   - The interpreter's frames are linked by rbp and hold the caller's sp: a compiled caller's frame may have been
//     extended for arguments.
//   - Stubs that dispatch virtual calls have no frame.
//   - Other code (assembly, prologues) is analysed by its instructions, within the blob's bounds.
//
// # Sources
//
// OpenJDK 17, src/hotspot/share/runtime/vmStructs.cpp, memory/heap.hpp and heap.cpp (CodeHeap::find_block_for),
// code/codeBlob.hpp, cpu/x86/frame_x86.hpp and frame_x86.inline.hpp (sender_for_compiled_frame, interpreter frames).
//
// # Invariants
//
// The differences between releases are a table of alternatives (tables.go), used only if the interpreter's variable and
// the heaps lead to the same code ([VM.Unknown]).
package hotspot
