// SPDX-License-Identifier: Apache-2.0

// Package outfile writes prywalk's output files: recordings, statistics, pages, tables.
//
// A regular file is replaced in one step, with mode 0600. A symbolic link is followed only where that is safe:
// root may write into world-writable directories, where another user's link would choose the file that root
// overwrites.
package outfile
