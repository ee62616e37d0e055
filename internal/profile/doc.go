// SPDX-License-Identifier: Apache-2.0

// Package profile stores intervals compactly, writes them as a pprof profile, and reads profiles.
//
// # Algorithm
//
// A [Builder] numbers modules, locations, stacks and label sets. An interval is a record of numbers in an append-only
// journal of fixed chunks, about 20 bytes each:
//
//	stack │ labels │ end − previous end │ samples │ wall │ runqueue │ cpu     seven varints
//
// All but the last 4 MB of the journal are in an unnamed file, if [Meta].SpillTo is set. A checkpoint holds the lock
// only to copy the tables' headers. Numbers of label sets are valid for a part of the journal (labels.go). With
// [Meta].Aggregate one sum per stack and label set replaces the journal.
//
// A write streams the message into the compressor: its memory is that of the distinct locations. The [Resolver] is
// asked once for each.
//
// # Source
//
// profile.proto of github.com/google/pprof: string 0 is empty; innermost locations and inlined lines first; the first
// mapping is the main binary; a caller's location lies within the call instruction.
package profile
