// SPDX-License-Identifier: Apache-2.0

// Package runstats declares the counts of a run: each with its meaning and its field of --stats, in order.
package runstats
