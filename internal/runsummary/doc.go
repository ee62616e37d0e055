// SPDX-License-Identifier: Apache-2.0

// Package runsummary describes a run: in a line, in a recording's comment, as the object of --stats, and as the error
// of a run without samples. A part of a text is "" if there is nothing to report.
package runsummary
