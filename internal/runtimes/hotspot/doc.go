// SPDX-License-Identifier: Apache-2.0

// Package hotspot walks and names the frames of Java virtual machines (HotSpot), by the machine's own tables.
//
// # Path of one Java frame
//
//	pc ─► heap ─► segment ─► code blob                          codeheap.go, kept by codecache.go
//	      blob, pc ─► rule for the caller                       vm.go, then innermost_x86.go, returnpath_x86.go,
//	                                                            code_x86.go (instructions), or rules_aarch64.go
//	      compiled:     pc ─► place in the nmethod ─► Ref       frameref.go, nmethod.go
//	      interpreted:  frame ─► Method, bytecode index ─► Ref  frameref.go, codelets.go, interpreted.go
//	Ref ─► inlined calls: Methods and bytecode indexes          symbolize.go, scopes.go, unsigned5.go
//	       Method ─► name, file                                 methods.go, symboltext.go
//	       bytecode index ─► line                               linetable.go
//
// libjvm.so describes its structures for debuggers (serviceability agent): gHotSpotVMStructs has fields with offsets,
// gHotSpotVMTypes sizes of types (vmstructs.go, for names namelayout.go). memory.go reads and caches memory,
// validity.go decides whether that is as of the copied stack.
//
// Threads are in threads.go, their Java objects in javaobjects.go and fieldinfo.go, names in threadnames.go, what they
// wait for in waits.go, parked.go and owners.go. startupsource.go is about the machine's start.
//
// # Rules
//
// Compiled code uses rbp as a general register and ends in jumps to common stubs. But each code blob (compiled method,
// stub, interpreter) has a header with its frame size.
//
//	frame of a blob with a frame size        higher addresses
//	  CFA                  = sp + frame size
//	  CFA −  8             return address
//	  CFA − 16             caller's rbp
//	  sp                   …                 lower addresses
//
// In compiled code the innermost frame has that size from the frame-complete offset to the epilogue.
//
// The interpreter's frames (interpreted.go) are linked by rbp and hold the caller's sp, as a compiled caller's frame
// may have been extended for arguments. Stubs that dispatch virtual calls have no frame. Other code is analysed by its
// instructions, within the blob.
//
// # Sources
//
// OpenJDK 17, src/hotspot/share/runtime/vmStructs.cpp, memory/heap.hpp and heap.cpp (CodeHeap::find_block_for),
// code/codeBlob.hpp, cpu/x86/frame_x86.hpp and frame_x86.inline.hpp (sender_for_compiled_frame, interpreter frames).
//
// # Invariants
//
// Releases differ in a table of alternatives (vmstructs.go), used only if the interpreter's variable and the heaps lead
// to the same code.
package hotspot
