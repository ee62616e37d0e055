// SPDX-License-Identifier: Apache-2.0

// Package userlands runs tests of prywalk on the languages' programs of older and newer Debians, in directories that
// these run in by chroot, and keeps the table of what they showed in docs/limits.md.
//
// "make test-userlands" runs it, as root. scripts/userlands/make.sh makes the directories. The programs in Python, Node
// and Java are those of package kernels.
package userlands
