// SPDX-License-Identifier: Apache-2.0

// Package launch starts a command that waits before its exec until it is released, and that inherits what it would
// without prywalk.
//
// It is a fork of this process that runs no Go code. The signals that the Go runtime changed are read from the
// runtime's variables. A pidfd awaits the end: a wait in the kernel would consume stops of tracees.
package launch
