// SPDX-License-Identifier: Apache-2.0

// Package kernels runs tests of prywalk on Debian's kernels, each in an emulated x86-64 machine, and keeps the table of
// what they showed in docs/limits.md. The tests are those of machine/inside, and of package torture those that judge
// results alone.
//
// "make test-kernels" runs it on all of them, and a test of 64 processors on the last; "make test-all" on the oldest
// and the newest, without tests that judge times, without stacks that depend on the compiler alone, and without most of
// package torture. scripts/kernels/fetch.sh gets the kernels and a static busybox; package machine has the machine, and
// the tests of machine/inside.
package kernels
