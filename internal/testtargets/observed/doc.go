// SPDX-License-Identifier: Apache-2.0

// Package observed tests runtimes on live processes: their threads are observed as in a recording ([Process.Observe]),
// or single-stepped. The [managed.FrameSource] under test merges the stacks, with symbols read by the standard library.
// [Record] and [DumpCore] use all of prywalk.
package observed
