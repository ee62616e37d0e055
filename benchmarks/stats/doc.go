// SPDX-License-Identifier: Apache-2.0

// Package stats has the statistics of the measurements beside those of prywalk/internal/base/statistics.
//
// Shares that a profiler sees are ratios of sums over time slices. Successive samples are alike, so the error is
// estimated from the differences between slices (the linearised variance of a ratio estimator, Cochran, Sampling
// Techniques, 3rd edition, §2.11 and §6.4), and is at least the binomial one.
package stats
