// SPDX-License-Identifier: Apache-2.0

// Package tabular writes figures and names into columns: as many digits as the samples bear, names of which the method
// is kept, widths that fit a terminal. Nothing in it knows profiles.
package tabular
