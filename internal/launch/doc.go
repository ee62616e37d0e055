// SPDX-License-Identifier: Apache-2.0

// Package launch starts a command that waits before its exec until it is released, with the inheritance that it would
// have without prywalk.
//
// The command is a fork of this process that runs no Go code (fork.go). Changes that the Go runtime made to signals are
// read from its own variables (startsignals.go). The end is awaited through a pidfd, as a wait in the kernel would
// consume stops of tracees.
package launch
