// SPDX-License-Identifier: Apache-2.0

// Package elfnames finds the function that an offset in an ELF file lies in, as the referee between two profilers: by
// the symbol tables, those of the separate debug file (found by its build id) included; where no symbol covers the
// place, by the functions that .eh_frame_hdr lists, which have no names.
//
// Both profilers saw addresses, and are compared by the same table, so that a different choice among a function's
// names (malloc, __libc_malloc) is not taken for a different place. It uses debug/elf only, and nothing of the
// product.
package elfnames
