// SPDX-License-Identifier: Apache-2.0

// Package top is a live table of functions, threads and waits.
//
// # Algorithm
//
// A [Store] sums a recording's intervals in cells, one for each stack, thread and wait: final intervals at once, open
// ones at each refresh (profile.Watcher). A refresh adds a slice: the changes of cells, less the last refresh's open
// intervals. A window is the sum of the last slices.
//
// Nothing is removed when a thread or process ends: its time leaves a table with the window's last slice that has it,
// and stays in the table of the whole recording, in the row evictedName from maxCells cells on.
//
// Names come from [profile.Names]; a function without one yet is shown by its module ([FunctionTable]).
//
// A [Snapshot] is a window as a profile, with a sample for each cell. Rows, groups and the conclusion are those of
// package view for it, as in report, without what a selection hides there and without peers of sockets. All tables are
// made from it, so that a paused display can be sorted and filtered.
package top
