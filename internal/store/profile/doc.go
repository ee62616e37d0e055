// SPDX-License-Identifier: Apache-2.0

// Package profile stores intervals compactly, writes them as a pprof profile, and reads profiles.
//
// # Algorithm
//
// A [Builder] numbers modules, locations and stacks. An interval is a record of varints, about 20 bytes, in an
// append-only journal of chunks, each of which can be read by itself. Labels are numbered in their chunk, and follow
// the first use of their number:
//
//	stack │ labels │ end − previous end │ samples │ wall │ runqueue │ cpu
//
// With [Meta].SpillTo, all but the last 4 MB of the journal are in an unnamed file, or, after a failed write, stay in
// memory without a bound. A write leaves out, and counts, what cannot be read from that file. With [Meta].Aggregate,
// one sum per stack and label set replaces the journal.
//
// A write copies the headers of the tables under the lock, then streams the message into the compressor.
//
// # Bounds of a read
//
//	uncompressed bytes     maxSize, maxLegacy of the old formats
//	fields of a sample     maxSampleFields
//	memory                 the budget of [prywalk/internal/host/filememory.Process], which a file raises by memoryPerByte
//
// # Source
//
// profile.proto of github.com/google/pprof: string 0 is empty; innermost locations and inlined lines first; the first
// mapping is the main binary; a caller's location lies within the call instruction.
package profile
