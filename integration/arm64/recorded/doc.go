// SPDX-License-Identifier: Apache-2.0

// Package recorded holds stacks of arm64 programs that were recorded in the emulated machine, so that they
// are walked on every machine by make test.
//
// A case is a core file as the kernel wrote it, with the files of the programs and libraries that it names. Of each
// only those bytes are kept that the walk depends on: registers, mappings, stack, code and call frame information.
// All else is zero, and left out of testdata/CASE_aarch64/case.txt. Which bytes those are is found by trying: a
// piece is kept if the walk comes out differently without it (Reduce). The frames that are expected were compared,
// when the case was recorded, with the chain of functions that the program is known to be in.
//
// scripts/arm64/record.sh records all cases again.
package recorded
