// SPDX-License-Identifier: Apache-2.0

// Package stats has the few statistics that the measurements need.
//
// Shares that a profiler sees are ratios of sums over time slices: the function's processor time over all of it.
// Samples that follow each other closely are alike, so that the binomial error is too small. The error is therefore
// estimated from the differences between slices (the linearised variance of a ratio estimator, Cochran, Sampling
// Techniques, 3rd edition, §2.11 and §6.4). It is never taken to be smaller than the binomial one. Two profilers
// are compared slice by slice ([ComparePairs]) with Student's t distribution, and many comparisons are judged
// together by Holm's procedure ([Holm]).
package stats
