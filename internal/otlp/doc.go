// SPDX-License-Identifier: Apache-2.0

// Package otlp writes messages of OpenTelemetry's profiles signal, and divides those that are too large.
//
// # Algorithm
//
// A [Dictionary] holds what the profiles of a message have in common. Its entries are kept as they are written, and
// found again by their bytes: equal entries are one. Entries refer to each other by number, so that an entry is added
// after those that it refers to.
//
// [Split] decodes a message into samples, and writes it as two, each with half of the samples and with the entries of
// the dictionary that these use.
//
// # Source
//
// opentelemetry/proto/profiles/v1development/profiles.proto of github.com/open-telemetry/opentelemetry-proto, release
// 1.9 and later. Its rules that matter here: entry 0 of each table is the zero value, entries are not repeated, and
// each index leads to an entry.
package otlp
