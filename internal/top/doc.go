// SPDX-License-Identifier: Apache-2.0

// Package top shows what threads do now: a live table of functions, threads and waits.
//
// # How it works
//
// A [Store] takes the intervals of a recording as they become final, and is told from time to time what goes on
// (profile.Watcher). It adds them up in cells: one for each stack, thread and wait. What a refresh brings is a
// slice, a list of what has been added to which cell. What was going on at the refresh before is taken off again,
// so that slices add up. A window is the sum of the last ones, and all of them are what the recording has.
//
// Names come later, on a goroutine of their own ([Names]), since a file's table can take seconds to read. Until then
// a function is shown by its module.
//
// A [Snapshot] is a window's cells at one moment. Tables are made of that alone, so that a display that pauses can
// still be sorted, filtered and looked into.
//
// # Changes
//
// A mark says that a share has changed, beyond its uncertainty ([Snapshot.Changes]). The last slices are compared with
// those before them, by the spread of the slices and by the error of counts, whichever is more.
package top
