// SPDX-License-Identifier: Apache-2.0

// Package differential compares prywalk's stacks with those of gdb and eu-stack, thread by thread, on real
// processes that are stopped meanwhile. It holds tests only.
//
// A target of internal/testtargets is stopped with SIGSTOP in the middle of its load, so that all three tools see
// one and the same state. Two dumps by prywalk, the first and the last look, must be equal. What is compared is the
// chain of program counters, without inlined calls.
//
// Agreement with another tool proves nothing where both use the same wrong tables, and disagreement is no fault
// where they do. So a stack on which prywalk stands alone must fall into a class. That is a rule, in
// classes_test.go, that recognises the frame at which the other tools leave the stack, and says what is true there
// and why. benchmarks/results/other-unwinders.md has these classes.
package differential
