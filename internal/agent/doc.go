// SPDX-License-Identifier: Apache-2.0

// Package agent sends what threads do to an OpenTelemetry Collector, window after window, without end.
//
// # Algorithm
//
// A [Store] divides the intervals of a recording into windows. Of an interval that goes on, a sleep of hours, each
// window has what it has grown by: the sums of all windows are those of the recording.
//
// An encoder names the locations of a window and writes a message (package otlp). A sender divides what is too large,
// and sends the oldest first. What cannot be sent waits in memory or in files, up to a size; what is dropped is
// counted.
//
// # Sources
//
// OTLP specification 1.9 (opentelemetry.io/docs/specs/otlp): which failures are tried again, RetryInfo and Retry-After,
// partial success. Semantic conventions 1.37 for the attributes of processes, containers and hosts.
package agent
