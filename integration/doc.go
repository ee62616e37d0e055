// SPDX-License-Identifier: Apache-2.0

// Package integration holds the end-to-end tests: they run cmd/prywalk on the programs of internal/testtargets, and
// compare its output with the kernel's clocks, google/pprof, and the programs' known behaviour.
package integration
