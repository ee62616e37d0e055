// SPDX-License-Identifier: Apache-2.0

// Package gdbjit has rules and names for run-time code that a process registers by GDB's JIT interface.
//
// # Algorithm
//
// The variable __jit_debug_descriptor leads to a list of ELF images with call frame information and symbols at
// run-time addresses. QEMU's user mode registers its code buffer, LLVM each object that it links (PostgreSQL's JIT on
// request), PHP each function.
//
//   - The list is read when the descriptor or the first entry has changed, and periodically, as an entry's memory can
//     be reused. An image counts only if the list, read again, still has it.
//   - Call frame information of a relocatable image (LLVM's) is read from the section's loaded copy, whose address is
//     in the section header: only that copy is relocated.
//   - Where images overlap, the last one registered holds.
//
// The input is hostile: the list may be circular or endless, images may overlap or lie about their size. All counts
// and sizes are bounded.
//
// Sources: GDB manual, "JIT Compilation Interface" (version 1); System V gABI chapter 4 (relocatable files).
package gdbjit
