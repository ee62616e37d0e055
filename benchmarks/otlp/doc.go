// SPDX-License-Identifier: Apache-2.0

// Package otlp reads the output of prywalk report --otlp with the OpenTelemetry Collector's own package, and compares
// it with the recording.
package otlp
