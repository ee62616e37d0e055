// SPDX-License-Identifier: Apache-2.0

// Package export writes profiles for Firefox Profiler, Speedscope, Perfetto, OpenTelemetry and Go's compiler.
package export
