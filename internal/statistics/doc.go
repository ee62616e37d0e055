// SPDX-License-Identifier: Apache-2.0

// Package statistics has the distributions and intervals of reports and measurements: Fisher's, Student's, Wilson's,
// and the bootstrap of medians.
package statistics
