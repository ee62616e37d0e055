// SPDX-License-Identifier: Apache-2.0

// Package agent sends profiles to an OpenTelemetry Collector, window after window, without end.
//
// # Algorithm
//
// A windowBuilder divides intervals into windows. Of an open interval, such as a sleep of hours, each window has the
// growth: the sums of all windows are the recording's. Time of a thread that was queued for a CPU when a window
// ended was sent as sleep, and is subtracted from later sleep. If none follows in the same stack, sums by stack differ
// by as much; those by process do so only if the process ends at once.
//
// An encoder names a window's locations, and writes a message (package otlp). A sender divides large messages, and
// sends the oldest first. What cannot be sent waits in a queue, in memory or in files (a spool), up to a size. Each
// interval is counted as sent or as lost.
//
// # Memory
//
// What bounds the memory of a run without end:
//
//	stacks and locations      evicted from profile.maxStacks and maxLocations, or twice what the last eviction kept
//	points of a window        maxPoints; later intervals are added to their row's last point
//	rows of a window          no bound: one for each stack, thread, state and wait that it has
//	sent time of open rows    one entry for each row that sleeps at a window's end; dropped after the sleep
//	time sent in excess       until it is subtracted, or maxOversentWindows after the end of its process
//	windows                   three: open, finished, in encoding; meanwhile the open one is not ended
//	waiting messages          maxWaitingBytes in memory, [Options].SpoolSize in files
//	attributes of processes   the processes of the window, and those that live
//	rules and calls           twice frames.maxRecent of each kind, for each process
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
