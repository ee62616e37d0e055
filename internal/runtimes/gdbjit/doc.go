// SPDX-License-Identifier: Apache-2.0

// Package gdbjit gives rules and names for run-time code that a process registers by GDB's JIT interface.
//
// # Algorithm
//
// The variable __jit_debug_descriptor leads to a list in the process's memory. Each entry has the address and size of
// an ELF image with call frame information and symbols at run-time addresses. QEMU's user mode registers its whole code
// buffer, LLVM each object that it links (PostgreSQL's JIT on request), PHP each function.
//
//   - The list is read when the descriptor or the first entry has changed, and at times regardless, because an entry's
//     memory can be reused. Kept of an image are call frame information, code addresses and function names.
//   - The list changes while it is read: it is read again after the images, and an image counts only if both readings
//     have its entry.
//   - The list changes between a stack's copy and its walk: the descriptor is compared before a walk, and the version
//     before the last change is kept for earlier copies ([Code.At]).
//   - A relocatable image (LLVM's) has the address of each section's loaded copy in the section's header. Call frame
//     information is read from that copy, because only that is relocated.
//   - Where images overlap, the last one registered holds: it has reused the memory.
//
// # Input is hostile
//
// The list may be circular or endless, and images may overlap or lie about their size. Entries, images, bytes, sections
// and symbols are bounded, and no size that is merely claimed is allocated beyond those bounds.
//
// Sources: GDB manual, "JIT Compilation Interface" (the structures; version 1), System V gABI chapter 4 (relocatable
// files).
package gdbjit
