// SPDX-License-Identifier: Apache-2.0

// Package agent sends profiles to an OpenTelemetry Collector, window after window, without end.
//
// # Algorithm
//
// A [WindowBuilder] divides intervals into windows. Of an open interval, such as a sleep of hours, each window has the
// growth: the sums of all windows are the recording's.
//
// An encoder names a window's locations, and writes a message (package otlp). A sender divides large messages, and
// sends the oldest first. What cannot be sent waits in a queue, in memory or in files (a spool), up to a size. Each
// interval is counted as sent or as lost.
//
// # Sources
//
// OTLP specification 1.9 (opentelemetry.io/docs/specs/otlp): retryable failures, RetryInfo and Retry-After, partial
// success. Semantic conventions 1.37: attributes of processes, containers and hosts.
package agent
