// SPDX-License-Identifier: Apache-2.0

// Package recorded holds stacks of arm64 programs that were recorded in the emulated machine, so that make test walks
// them on every machine.
//
// A case is a core file, with the files that it names. Only the bytes that the walk depends on are kept (Reduce). All
// others are zero, and absent from testdata/CASE_aarch64/case.txt. When a case was recorded, its frames were compared
// with the known chain of functions. scripts/arm64/record.sh records all cases again.
package recorded
