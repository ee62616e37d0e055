// SPDX-License-Identifier: Apache-2.0

// Package benchmarks measures prywalk; what each of its commands measures, and how it is used, is in the command's
// package comment. Paths of flags start at the top of the repository.
//
// A figure is a count, or a ratio of two things measured side by side in one run. The product imports nothing of this
// module.
package benchmarks
