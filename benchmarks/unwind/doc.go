// SPDX-License-Identifier: Apache-2.0

// Command unwind measures the speed of prywalk's walker, framehop, libunwind and elfutils, on the same recorded stacks
// (package snapshot) in one run; see benchmarks/results/unwinding-speed.md.
//
//	go -C benchmarks run ./unwind                             all programs, a table in Markdown on standard output
//	go -C benchmarks run ./unwind -programs redis -rounds 2   a short trial
//	go -C benchmarks test -bench . ./unwind                   BenchmarkWalkWarm, BenchmarkWalkCold, BenchmarkReady
//
// Each round walks all stacks with each unwinder: warm with the rules of earlier walks; cold without rules, as framehop
// with a new cache; first also without what runtimes have read of the process. Times are of the thread's CPU clock. A
// chain is right if it equals prywalk's at the recording: in generated code the others end early, or give false frames.
//
// The peers need Debian's libunwind-dev, libdw-dev and gcc; cargo, which gets framehop from crates.io. elfutils keeps
// no rules: its cold figure is the first pass of a new session.
package main
