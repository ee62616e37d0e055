// SPDX-License-Identifier: Apache-2.0

// Package top is a live table of functions, threads and waits.
//
// # Algorithm
//
// A [Store] receives the intervals of a recording: final ones at once, open ones at each refresh (profile.Watcher). It
// sums them in cells, one for each stack, thread and wait. A refresh adds a slice: the list of changes of cells, from
// which the open intervals of the last refresh are subtracted. A window is the sum of the last slices.
//
// Names come from [profile.Names]; a function without a name yet is shown by its module ([Functions]).
//
// A [Snapshot] is a window's cells at one time. Tables need nothing else, so that a paused display can be sorted and
// filtered. Marks show significant changes of shares ([Snapshot.Changes]).
package top
