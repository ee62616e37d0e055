// SPDX-License-Identifier: Apache-2.0

// Package tabular formats figures and names for columns: as many digits as the samples support, shortened names,
// widths in terminal cells.
package tabular
