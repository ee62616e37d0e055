// SPDX-License-Identifier: Apache-2.0

// Package budget keeps account of the memory that strangers' files take: programs and their debug information, perf
// maps, cores, profiles of other tools. A small file can claim, or unpack to, any size. So whoever allocates for one
// asks an [Account] of that file first; all accounts share a [Budget]. What is refused is left out, and told in one
// line.
package budget
