// SPDX-License-Identifier: Apache-2.0

// Package stranger opens files that other programs name: the program and the libraries of a target, their
// debug files, perf maps, sources. Who names them may be hostile, and the file may lie where somebody else
// decides what happens when it is opened. So there is one way for all of them:
//
//   - A path is resolved below the root directory that it is meant for, and no link leads out of it.
//   - Only a regular file is opened, and the one that was looked at: nothing can be put in its place between.
//   - Files of the kernel's own (/proc, /sys) are not opened: to read them can have an effect, or never end.
//   - Where a file gives names to frames, it must belong to somebody who may decide about them.
//   - Whatever may wait for another program (FUSE, network file systems) is given up after a time.
package stranger
