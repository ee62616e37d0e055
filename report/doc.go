// SPDX-License-Identifier: Apache-2.0

// Package report turns a profile into what people look at. Those are a table of functions, a call tree, folded
// stacks, a page with a flame graph, and the files that other viewers read. It takes any pprof profile, prywalk's
// or another tool's.
//
//	p, err := profile.ParseData(bytes) // github.com/google/pprof/profile
//	err = report.Table(os.Stdout, p, report.Options{By: "thread"})
//
// # Algorithm
//
// Each location of the profile becomes a list of frames, the innermost inlined call first; frames are numbered by
// function, module and, where asked for, line. Every form is then one pass over the samples. A function's self
// value is the sum over the samples in which it is innermost, its total the sum over those in which it occurs, once
// however often it recurs. The tree and the page insert each stack into a trie from its outermost frame.
//
// A location without a function is shown as its module in square brackets, as
// pprof shows it; with lines, by its offset in the file.
//
// # Sources
//
// github.com/google/pprof/proto/profile.proto for the input; the folded form is that
// of Brendan Gregg's FlameGraph; Speedscope's file-format-schema; for Firefox the
// "processed profile" that its profiler imports; Go's profile-guided
// optimisation reads pprof.
package report
