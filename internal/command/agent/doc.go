// SPDX-License-Identifier: Apache-2.0

// Package agent sends profiles to an OpenTelemetry Collector, window after window, without end.
//
// # Algorithm
//
// A windowBuilder divides intervals into windows. A window's end cuts open intervals, such as a sleep of hours, so that
// the sums of all windows are the recording's. A thread that is queued for a CPU at a window's end counts as asleep
// until then; the excess is subtracted from its later blocked time, and remains if it has none. An interval's part in a
// window counts as an interval; a message has a point of it for each clock.
//
// Waiting tasks and labels of a program are not sent: the agent does not sample them.
//
// An encoder names a window's locations, and writes a message (package otlp). A sender divides large messages, and
// sends the oldest first. Unsent messages wait in a bounded queue, in memory or in files (a spool). Each interval is
// counted as sent or as lost.
//
// # Memory
//
// Bounds of the memory of a run without end:
//
//	stacks and locations      evicted from profile.maxStacks and maxLocations, or twice what the last eviction kept
//	points of a window        maxPoints, or one for each row; later intervals are added to their row's last point
//	rows of a window          no bound: one for each stack, thread, state and wait that it has
//	windows                   three: open, finished, in encoding; meanwhile the open one is not ended
//	waiting messages          maxWaitingBytes in memory, [Options].SpoolSize in files
//	attributes of processes   the processes of the window, and those that live
//	rules and calls           frames.maxEntries of all kinds, for each process
//	names of locations        all dropped at profile.maxKnownNames
//	objects of a runtime      managed.maxObjects; unused ones are evicted
//	pages that a walk reads   managed.maxPages
//	tables of files           half of --max-memory (package filememory); dropped after use (dropUnusedInterval)
//	heap                      --max-memory is the Go runtime's memory limit: it collects more often, and refuses nothing
//
// # Sources
//
// OTLP specification 1.9 (opentelemetry.io/docs/specs/otlp): retryable failures, RetryInfo and Retry-After, partial
// success. Semantic conventions 1.37: attributes of processes, containers and hosts.
package agent
