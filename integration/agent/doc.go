// SPDX-License-Identifier: Apache-2.0

// Package agent compares what prywalk agent sends to a real OpenTelemetry Collector (../collector) with recordings and
// the kernel's clocks, to the nanosecond.
package agent
