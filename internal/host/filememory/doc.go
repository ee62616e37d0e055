// SPDX-License-Identifier: Apache-2.0

// Package filememory limits the memory for untrusted files: programs, debug information, perf maps, cores, other tools'
// profiles. A small file can claim, or unpack to, any size.
//
// A reader asks its file's [Account] before it allocates; all share a [Budget]. What is refused is left out, and
// reported in one line.
package filememory
