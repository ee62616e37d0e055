// SPDX-License-Identifier: Apache-2.0

// Package outfile writes the files that prywalk is asked for: recordings, statistics, pages, tables. There is one
// way for all of them. A regular file is replaced in one step and has mode 0600. A symbolic link is followed where
// it is safe, and only then. Root may write into directories that all users can write to, and there a link of
// another user would choose which file root overwrites.
package outfile
