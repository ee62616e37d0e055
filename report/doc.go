// SPDX-License-Identifier: Apache-2.0

// Package report presents any pprof profile: a table of functions, a call tree, folded stacks, a page with a flame
// graph, and files for other viewers.
//
//	p, err := profile.ParseData(bytes) // github.com/google/pprof/profile
//	err = report.Table(os.Stdout, p, report.Options{By: "thread"})
//
// # Algorithm
//
// A location becomes a list of frames, innermost inlined call first, numbered by function, module and, on request,
// line. Self is the sum of samples in which a function is innermost, total of those that contain it, once even in a
// recursion. Tree and page build a call tree from the outermost frame:
//
//	main;serve;parse 3      main 5 ─ serve 5 ─┬─ parse 3      self: parse 3, flush 2
//	main;serve;flush 2                        └─ flush 2      total: main 5, serve 5
//
// # Sources
//
// github.com/google/pprof/proto/profile.proto; the folded form of Brendan Gregg's FlameGraph; Speedscope's
// file-format-schema; Firefox's "processed profile"; Go's profile-guided optimisation.
package report
