// SPDX-License-Identifier: Apache-2.0

// Package testtargets starts real programs under load, for tests and benchmarks to look at.
//
// A target is a server with its load generator (redis, nginx, PostgreSQL), an interpreter or virtual machine at
// work (CPython, Node, a JVM). Or it is a small program from src, compiled when it is first needed and kept in the
// user's cache directory under a hash of its source and its compiler. The small programs have known call chains and
// known shares of processor time; [Expect] tells what a profile of a target must hold.
//
// Every process runs on loopback and in a temporary directory, and is bounded three times. It ends when
// [Target.Stop] is called, when the process that started it ends in whatever way, and after Options.Limit. The last
// two are kept by timeout(1), which is the parent of each and ends its whole process group: the kernel sends it
// SIGTERM when the starter is gone (PR_SET_PDEATHSIG).
//
// What is needed beyond Go and a C compiler is installed by scripts/setup-tests.sh; a target whose
// programs are missing fails and names them.
package testtargets
