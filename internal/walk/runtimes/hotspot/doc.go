// SPDX-License-Identifier: Apache-2.0

// Package hotspot walks and names the frames of Java virtual machines (HotSpot), by the tables of the JVM itself.
//
// # Path of one Java frame
//
//	pc ─► heap ─► segment ─► code blob                          codeheap.go, kept by codecache.go
//	      blob, pc ─► rule for the caller                       vm.go, then rules_x86.go or rules_aarch64.go
//	                                                              innermost_x86.go, returnpath_x86.go
//	                                                              removal_x86.go, code_x86.go:
//	                                                              instructions
//	      compiled:     pc ─► place in the nmethod ─► Ref       frameref.go, nmethod.go
//	      interpreted:  frame ─► Method, bytecode index ─► Ref  frameref.go, interpreted.go
//	Ref ─► inlined calls: Methods and bytecode indexes          symbolize.go, scopes.go, linetable.go
//	       Method ─► name, file                                 methods.go, symboltext.go
//	       bytecode index ─► line                               linetable.go
//	stubs:        pc ─► routine, vtable or itable stub          stubs.go
//
// libjvm.so describes its structures for debuggers (serviceability agent): gHotSpotVMStructs has fields with offsets,
// gHotSpotVMTypes sizes of types (vmstructs.go, namelayout.go). memory.go reads and caches memory, validity.go
// decides whether it is as of the copied stack.
//
// Threads: threads.go; Java objects: javaobjects.go, fieldinfo.go; names: threadnames.go; waits: waits.go, parked.go,
// owners.go. Virtual threads: vthreads.go, threadsets.go, stackchunk.go, seals.go. The JVM's start: codesource.go.
//
// # Rules
//
// Compiled code uses rbp as a general register. But each code blob (compiled method, stub, interpreter) has a header
// with its frame size.
//
//	frame of a blob with a frame size        higher addresses
//	  CFA                  = sp + frame size
//	  CFA −  8             return address
//	  CFA − 16             caller's rbp
//	  sp                   …                 lower addresses
//
// In compiled code the innermost frame has that size from the frame-complete offset to the epilogue.
//
// The interpreter's frames (interpreted.go) are linked by rbp and hold the caller's sp. Stubs that dispatch virtual
// calls have no frame. Other code is analysed by its instructions, within the blob.
//
// # Releases
//
// The tables of libjvm.so give most offsets; a field moved by a release is found by the fields present (want…, first
// complete set). Where no field distinguishes releases, the number decides (nameLayout.major) or the instructions.
// Changes since JDK 8:
//
//	 9  several heaps of code; a blob's bounds are addresses      vmstructs.go (wantHeaps, wantBounds), codeheap.go
//	    scopes of a compiled method begin at an address           namelayout.go (wantScopes), nmethod.go
//	    the interpreter's frame has one more slot above the       interpreted.go (interpretedFrame)
//	    constant pool cache, two on arm64
//	    strings have bytes and a coder                            javaobjects.go
//	10  threads are in a ThreadsList                              threads.go (wantThreadList)
//	16  the list of heaps has another class                       vmstructs.go (wantHeaps)
//	    threads and monitors hold handles of objects              threadnames.go, parked.go, waits.go (handleMonitors)
//	19  a thread's status is in its FieldHolder                   parked.go (learnFields)
//	20  no byte of a compressed number is 0                       linetable.go, namelayout.go (firstExcludingZero)
//	    threads run virtual threads                               waits.go (wantVirtual), parked.go
//	21  fields of a class are a stream, not tuples                fieldinfo.go
//	    threads have a stack of locked objects                    waits.go (wantLockStack), owners.go
//	    adapters move the return address in another way           innermost_x86.go, returnpath_x86.go (adapterMoves)
//	23  a blob's bounds are offsets again                         vmstructs.go (wantBounds)
//	    scopes are in _immutable_data                             namelayout.go (wantScopes), nmethod.go
//	24  a monitor's owner is a thread's id                        waits.go (wantOwner), owners.go
//	    headers of objects may have the class in the mark         javaobjects.go (headerCompact)
//	25  methods that scopes name are in _mutable_data             namelayout.go (wantMetadata), nmethod.go
//	    the end of an interpreted frame clears a byte             removal_x86.go
//	    the interpreter on arm64 moves the caller's sp to x20     interpreter_aarch64.go (senderAfterPop)
//	28  three more flags of a field                               fieldinfo.go (valueFlags)
//
// Other fields have only another name or class in some releases (vmstructs.go, renamed).
//
// # Sources
//
// OpenJDK 17, src/hotspot/share/runtime/vmStructs.cpp, memory/heap.hpp and heap.cpp (CodeHeap::find_block_for),
// code/codeBlob.hpp, cpu/x86/frame_x86.hpp and frame_x86.inline.hpp (sender_for_compiled_frame, interpreter frames).
//
// # Invariants
//
// A frame that waits for its deoptimization is named by its original pc; one that the deoptimization blob replaces, by
// the interpreter's deoptimization entry points. Before Linux 6.11 a method that was just compiled can be [freed]. The
// chosen fields are used only if proven (codecache.go).
package hotspot
