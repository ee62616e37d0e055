// SPDX-License-Identifier: Apache-2.0

// Package runstats declares the counts of a run, each with its meaning and its field of --stats, in order, and
// describes the run by them: in a line, in a recording's comment, and as the error of a run without samples. A part of
// a text is "" if there is nothing to report.
package runstats
