// SPDX-License-Identifier: Apache-2.0

// Package callstack merges a walk's native frames with the managed frames of runtimes into one stack.
package callstack
