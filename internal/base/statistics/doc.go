// SPDX-License-Identifier: Apache-2.0

// Package statistics has the distributions and intervals of reports: Fisher's, Student's and Wilson's.
package statistics
