// SPDX-License-Identifier: Apache-2.0

// Package gdbjit gives rules and names for code made at run time that a process registers by GDB's JIT interface.
//
// # Algorithm
//
// GDB's JIT interface is a list in the process's memory. The variable __jit_debug_descriptor leads to its first
// entry; each entry says where an ELF image of some code lies, and how large it is. Such an image has call frame
// information and symbols at run-time addresses. QEMU's user mode describes its whole code buffer so, LLVM each object
// that it links (PostgreSQL's JIT where it is asked to), PHP each function.
//
//   - The list is read when the descriptor is not what it was, and once in a while all the same. An entry's memory
//     may have been used again for another one. What is kept of an image are its call frame information, where its
//     code lies, and its functions' names.
//   - A stack is walked after it was copied. So the descriptor is compared before each walk, and what was described
//     before the last change is kept for copies from before ([Code.At]).
//   - A process changes the list while it is read. So the list is read again after the images were, and an
//     image counts only if its entry was in both readings.
//   - In a relocatable image (LLVM's) each section's header has the address of the loaded copy. The image's own call
//     frame information is not relocated there, but the loaded copy is: that one is read.
//   - Where images overlap, that which was registered last holds; the others' memory was used again.
//
// # Input is hostile
//
// The list may be a circle, or endless; images may lie about their size and overlap. Entries, images, bytes,
// sections and symbols have maximal counts, and nothing is allocated for a size that is merely claimed beyond those.
//
// Sources: GDB manual, "JIT Compilation Interface" (the structures; version 1), System V gABI chapter 4
// (relocatable files).
package gdbjit
