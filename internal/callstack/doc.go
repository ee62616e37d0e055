// SPDX-License-Identifier: Apache-2.0

// Package callstack merges a walk's native frames with the managed frames of run-time systems into one stack.
package callstack
