// SPDX-License-Identifier: Apache-2.0

// Package hotspot knows the frames of code that a Java virtual machine has made at run time, by the
// machine's own tables.
//
// # Algorithm
//
// HotSpot's compilers use rbp like any other register, so that a frame pointer proves nothing in their code. Their
// methods end in jumps to common stubs, so that following the instructions to a return often leads nowhere. But the
// machine walks its own stacks. Each piece of code (a code blob: a compiled method, a stub, the interpreter) has a
// header, which says how large its frames are. libjvm.so describes its own data structures for debuggers (the
// serviceability agent): gHotSpotVMStructs lists fields with their offsets, gHotSpotVMTypes the sizes of types.
//
//   - What differs between releases is in a table of alternatives (tables.go). It holds only if the place of the
//     interpreter, by its own variable, is also found by the heaps and headers ([VM.Unknown]).
//   - The code cache is a list of heaps. Each is cut into segments, and a map with one byte for each segment leads
//     from any address in it to the header of the blob around it.
//   - In a blob with a frame size, the CFA of a caller is that far above sp, the return
//     address right below it, the caller's rbp below that. In the innermost frame this holds
//     behind the offset where the header says that the frame is complete, up to the end of the
//     method, which the instructions show.
//   - The interpreter keeps frames by rbp. Its caller's stack pointer is in the frame, since
//     a compiled caller's frame may have been extended for arguments.
//   - The stubs that dispatch virtual calls have no frame.
//
// Everything else (the routines written in assembly, the starts of methods) is left to the analysis of the
// instructions, for which this package tells where a blob begins and ends.
//
// Sources: OpenJDK 17, src/hotspot/share/runtime/vmStructs.cpp (names), memory/heap.hpp and heap.cpp
// (CodeHeap::find_block_for), code/codeBlob.hpp, cpu/x86/frame_x86.hpp and frame_x86.inline.hpp
// (sender_for_compiled_frame, the layout of interpreter frames).
package hotspot
