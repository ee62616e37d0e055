// SPDX-License-Identifier: Apache-2.0

// Package elfnames finds the function at an offset in an ELF file: by the symbol tables, including those of the
// separate debug file (found by its build id), else by the functions of .eh_frame_hdr, which have no names.
package elfnames
