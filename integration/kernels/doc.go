// SPDX-License-Identifier: Apache-2.0

// Package kernels runs tests of prywalk on Debian's kernels, each in an emulated x86-64 machine, and keeps the table of
// what they showed in docs/limits.md.
//
// Only "make test-kernels" runs it. scripts/kernels/fetch.sh gets the kernels and a static busybox; package machine has
// the machine and the tests that run in it.
package kernels
