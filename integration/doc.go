// SPDX-License-Identifier: Apache-2.0

// Package integration holds the end-to-end tests. They build cmd/prywalk, run it on the real programs of
// internal/testtargets and on everything that can go wrong. They judge what it writes by what others say: the
// kernel, google/pprof, and the known behaviour of the programs. It has no other content.
package integration
