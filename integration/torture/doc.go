// SPDX-License-Identifier: Apache-2.0

// Package torture tests that stops leave the results of system calls, signals and job control as they are. Programs in
// src use one interface each (docs/system-calls.md) and count what they notice, while prywalk samples them at 1,000 Hz.
//
// The tests assert counts, never time. TORTURE=long makes them longer.
package torture
