// SPDX-License-Identifier: Apache-2.0

// Package outfile writes prywalk's output files.
//
// A regular file is replaced in one step, with mode 0600. In a sticky world-writable directory (/tmp) another user's
// symbolic link is not followed: it would choose the file that root overwrites.
// Two programs that write one path replace each other's file; nothing locks it.
package outfile
