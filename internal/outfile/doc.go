// SPDX-License-Identifier: Apache-2.0

// Package outfile writes prywalk's output files.
//
// A regular file is replaced in one step, with mode 0600. A symbolic link is followed only where that is safe: in a
// world-writable directory another user's link would choose the file that root overwrites.
package outfile
