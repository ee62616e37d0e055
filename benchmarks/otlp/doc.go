// SPDX-License-Identifier: Apache-2.0

// Package otlp reads the output of prywalk report --otlp with the OpenTelemetry Collector's own package, and compares
// it with the recording: sums to the nanosecond, stacks frame by frame, and the rules of the format.
package otlp
