// SPDX-License-Identifier: Apache-2.0

// Package profile is the recording: what was seen of the threads, kept small while
// it grows, written as a pprof profile, and read back.
//
// # Algorithm
//
// A [Builder] interns: modules, locations, stacks and label sets each get a small
// number the first time they are seen. An interval then is a handful of numbers,
// and is appended as variable-length integers to a journal of fixed chunks, about
// 20 bytes for each; bytes once written never change. All but the last 4 MB of them lie in a
// file without a name, if [Meta].SpillTo says where. A checkpoint therefore needs
// the lock only to copy the headers of the tables, and encodes while recording
// goes on. Numbers of label sets hold for a part of the journal, so that those of
// threads that have ended need not be kept. With [Meta].Aggregate the journal is
// replaced by one sum for each pair of stack and label set.
//
// Looking up the locations is what interning costs. Most of a deep stack's entries are
// those of the thread's last stack; a caller that knows which saves that ([Part]).
//
// Writing streams the protocol buffer message straight into the compressor: samples
// are never objects, so that the memory needed is that of the distinct locations.
// Names are asked for once for each location that a stack uses ([Resolver]).
//
// # Source
//
// The format is profile.proto of github.com/google/pprof. Its rules that matter here: string 0 is empty, the
// innermost location and the innermost inlined line come first. The first mapping is the main binary, a location of
// a caller holds an address inside of the call instruction.
package profile
