// SPDX-License-Identifier: Apache-2.0

// Command unwind measures how fast stacks are walked: by prywalk's walker, and by framehop, libunwind and elfutils, on
// the same recorded stacks in one run.
//
//	go -C benchmarks run ./unwind                              all programs, a table in Markdown on standard output
//	go -C benchmarks run ./unwind -programs redis -rounds 2    a short trial
//	go -C benchmarks test -bench . ./unwind                 BenchmarkWalkWarm, BenchmarkWalkCold, BenchmarkReady
//
// # What is measured
//
// Programs of internal/testtargets are frozen under load, thread by thread, until there are 200 stacks of each; their
// registers and bytes go into a file (package snapshot). Each round then walks all stacks with each unwinder in turn.
// A warm walk finds in the caches what earlier walks left there; a cold one begins with empty caches, and what it takes
// to empty them does not count. Times are those of the thread's processor clock, divided by the number of frames that
// the unwinder itself gave. The table shows the median of the rounds and their range.
//
// prywalk walks by the modules of the live, stopped process, as it does in use; the others by the same files. That a
// chain is right means that it equals the one that prywalk gave when the stack was recorded. Where all stacks are in
// code with call frame information, all unwinders agree. In generated code they end early, or give frames that are
// none.
//
// # What the peers need
//
// Debian's libunwind-dev, libdw-dev and gcc; cargo, which gets framehop from crates.io. A peer whose parts are
// missing is left out, and a line says so. Sources are in peers; elfutils keeps no rules, so that its cold figure is
// that of a first pass with a new session.
package main
