// SPDX-License-Identifier: Apache-2.0

// Package budget limits the memory that untrusted files take: programs and their debug information, perf maps,
// cores, profiles of other tools. A small file can claim, or unpack to, any size.
//
// A reader asks the [Account] of its file before it allocates; all accounts share a [Budget]. What is refused is
// left out, and reported in one line.
package budget
