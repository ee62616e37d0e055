// SPDX-License-Identifier: Apache-2.0

// Package copyplan carries out a run-time system's plan of what to copy ([managed.Plan]) while a thread is stopped or
// asleep. It allocates nothing in the steady state.
//
// # Algorithm
//
// The steps of a plan load words, and copy ranges, chains of nodes and the objects to which these point. An observation
// reads mostly what the last one of its thread has read ([Last]): before the steps run, one call reads those of these
// places that were present just before ([Last.CheckPresent]). The steps read what is missing.
package copyplan
