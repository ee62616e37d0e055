// SPDX-License-Identifier: Apache-2.0

// Package otlp writes messages of OpenTelemetry's profiles signal, and divides large ones.
//
// # Algorithm
//
// A [Dictionary] holds the common entries of a message's profiles, found by their bytes, so that equal ones are one. An
// entry follows those to which it refers. [Split] writes two messages, each with half of the samples' bytes and the
// entries that they use.
//
// # Source
//
// opentelemetry/proto/profiles/v1development/profiles.proto of github.com/open-telemetry/opentelemetry-proto, release
// 1.9 and later: entry 0 of each table is the zero value, entries are unique, each index has an entry.
package otlp
