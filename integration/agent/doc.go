// SPDX-License-Identifier: Apache-2.0

// Package agent tests prywalk agent with a real OpenTelemetry Collector (../collector), to the nanosecond.
package agent
