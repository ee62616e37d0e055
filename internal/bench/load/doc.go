// SPDX-License-Identifier: Apache-2.0

// Package load is the target of prywalk bench: threads that compute and threads that sleep, in a process of its own.
//
// It prints a line when it has begun, answers each line of standard input with a [Report], and ends at its end. The
// loads of benchmarks/overhead do the same.
package load
