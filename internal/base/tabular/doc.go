// SPDX-License-Identifier: Apache-2.0

// Package tabular formats figures and names for columns: digits that the samples support, shortened names, terminal
// cells.
package tabular
