// SPDX-License-Identifier: Apache-2.0

// Package callstack makes one stack of the native frames of a walk and the managed frames that run-time systems know:
// for recordings, for dumps, and for cores.
package callstack
