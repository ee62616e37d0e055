// SPDX-License-Identifier: Apache-2.0

// Package elfnames tells which function an offset in an ELF file lies in, in the plainest way. That is by the
// symbol tables (those of the separate debug file too, found by its build id). Where no symbol covers the place, it
// is by the functions that .eh_frame_hdr lists, which have no names.
//
// It is the referee between two profilers. Both saw addresses, and are compared by the same table, so that a
// different choice among a function's names (malloc, __libc_malloc) is not taken for a different place. It is
// written with debug/elf only and shares nothing with the product.
package elfnames
