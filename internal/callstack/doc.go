// SPDX-License-Identifier: Apache-2.0

// Package callstack merges the native frames of a walk with the managed frames of run-time systems into one stack, for
// recordings, dumps and cores.
package callstack
