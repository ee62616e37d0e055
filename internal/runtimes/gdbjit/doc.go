// SPDX-License-Identifier: Apache-2.0

// Package gdbjit gives rules and names for run-time code that a process registers by GDB's JIT interface.
//
// # Algorithm
//
// The variable __jit_debug_descriptor leads to a list in the process's memory, of ELF images with call frame
// information and symbols at run-time addresses. QEMU's user mode registers its code buffer, LLVM each object that it
// links (PostgreSQL's JIT on request), PHP each function.
//
//   - The list is read when the descriptor or the first entry has changed, and at times regardless, as an entry's
//     memory can be reused. It changes meanwhile: an image counts only if the list, read again, still has it.
//   - The list changes between a stack's copy and its walk: the descriptor is compared before a walk, and the version
//     before the last change is kept for earlier copies ([Code.At]).
//   - A relocatable image (LLVM's) has the address of each section's loaded copy in the section's header. Call frame
//     information is read from that copy: only that is relocated.
//   - Where images overlap, the last one registered holds.
//
// # Input is hostile
//
// The list may be circular or endless; images may overlap or lie about their size. All counts and sizes are bounded,
// and nothing is allocated for a merely claimed size beyond those bounds.
//
// Sources: GDB manual, "JIT Compilation Interface" (the structures; version 1), System V gABI chapter 4 (relocatable
// files).
package gdbjit
