// SPDX-License-Identifier: Apache-2.0

// Package safeopen opens files that other programs name: a target's program and libraries, debug files, perf maps,
// sources.
//
// # Invariants
//
// Names and file systems may be hostile:
//
//   - A path is resolved below its root directory, and no link leads out of it.
//   - Only a regular file is opened, and the one that was checked.
//   - Files of kernel file systems (/proc, /sys) are refused: a read can have side effects, or never end.
//   - A file that names frames must belong to a trusted user ([Trust]).
//   - A file system that may wait for another program (FUSE, network) is given up after a time.
//
// # Algorithm
//
//	Request ──► walk, element by element (resolve.go): O_PATH ──► checks: kind, owner, age, size ──► reopen ──► File
//	                │ a FUSE mount on the way
//	                └──► Copier: another process reads the file into a memfd (copy.go)
//
// Sources: path_resolution(7); proc_pid_mountinfo(5); fs/fuse/dev.c.
package safeopen
