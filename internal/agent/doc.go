// SPDX-License-Identifier: Apache-2.0

// Package agent sends profiles to an OpenTelemetry Collector, window after window, without end.
//
// # Algorithm
//
// A [Store] divides the intervals of a recording into windows. Of an open interval, such as a sleep of hours, each
// window has the growth: the sums of all windows are those of the recording.
//
// An encoder names the locations of a window, and writes a message (package otlp). A sender divides messages that are
// too large, and sends the oldest first. Messages that cannot be sent wait in a queue, in memory or in files (a spool),
// up to a size. Each interval is counted as sent or as lost.
//
// # Sources
//
// OTLP specification 1.9 (opentelemetry.io/docs/specs/otlp): retryable failures, RetryInfo and Retry-After, partial
// success. Semantic conventions 1.37: attributes of processes, containers and hosts.
package agent
