// SPDX-License-Identifier: Apache-2.0

// Package differential compares prywalk's stacks with those of gdb and eu-stack, thread by thread, on real processes.
// It has tests only.
//
// A target of internal/testtargets is stopped by SIGSTOP during its load; prywalk's dumps before and after those of the
// other tools must be equal. Chains of program counters are compared, without inlined calls.
//
// Other tools may use wrong tables, too. A stack on which prywalk disagrees with both must fall into a class: a rule in
// classes_test.go that recognizes the frame at which the others depart (benchmarks/results/other-unwinders.md).
package differential
