// SPDX-License-Identifier: Apache-2.0

// Package walk walks the stack of a thread, live or of a core, and names its frames.
//
// # Algorithm
//
// A frames.Walker gives the native frames from a sample's copy of the stack. The runtimes replace those that run
// managed functions (callstack.Merger). Each frame is named at once: by the symbols of its module, inlined calls first,
// or by its runtime. A runtime's own native frames are kept and marked. An incomplete stack ends with a frame that
// names the reason ([Walker.WithReason]).
package walk
