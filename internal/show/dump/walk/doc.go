// SPDX-License-Identifier: Apache-2.0

// Package walk walks the stack of a thread, live or of a core, and names its frames.
//
// # Algorithm
//
// A frames.Walker gives the native frames from a sample's copy of the stack. The runtimes replace those that run
// managed functions (callstack.Merger). Symbols or a runtime name each frame at once. An incomplete stack ends with a
// frame that names the reason ([Walker.WithReason]).
package walk
