// SPDX-License-Identifier: Apache-2.0

// Package testtargets starts real programs under load, for tests and benchmarks.
//
// A target is a server with its load generator, an interpreter or virtual machine at work, or a small program of src
// with known call chains and shares of CPU time, compiled on demand and cached. [Expect] is the required contents of a
// profile.
//
// Processes end with [Target.Stop], with the process that started them (PR_SET_PDEATHSIG, by timeout(1) as parent), or
// after Options.Limit. scripts/setup-tests.sh installs the programs.
package testtargets
