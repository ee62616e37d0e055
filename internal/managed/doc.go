// SPDX-License-Identifier: Apache-2.0

// Package managed is the seam for run-time systems: virtual machines and language run-times found in a process, whose
// calls are not, or not all, functions of a file. It has the types only. Each run-time system is a folder of
// internal/runtimes, and internal/runtimes has their list.
//
// A run-time system has three moments. It is detected in a process (a [Detector]). It adopts the code that it has made
// (rules for unwinding, see [Runtime]). If it is a [Namer], it is told the native frames of each walk and gives the
// managed frames that they run. The first two happen when a process's mappings are read, the third in the walk.
//
// Managed frames are named in the walk, not when the recording is written: by then the memory that says their names is
// gone.
package managed
