// SPDX-License-Identifier: Apache-2.0

// Package layers has tests of rules of the whole source:
//
//   - the order of the packages: what each may import, and what depends on nothing but the standard library
//   - where unsafe and raw system calls may stand, and which functions are pinned or pure
//   - the text: licence lines, the length of lines, names in comments and pages, files in the repository
package layers
