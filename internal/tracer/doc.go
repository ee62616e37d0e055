// SPDX-License-Identifier: Apache-2.0

// Package tracer observes the threads of the targets at each tick, and reports events (package handover).
//
// # Algorithm
//
// A tick has ten steps (tick.go), and a part for each job. The parts share [state].
//
//	tick ─► selector ────► observations ──► stops ─────► package observe, ptrace
//	 │      which threads   one thread       pending      one thread: unchanged,
//	 │                      after another    stops        passive read or stop
//	 ├────► newThreads, newChildren ──► observed before all others
//	 ├────► tracked: processes and threads: tracked, listed, ended
//	 ├────► engine.Engine, in place of stops: the kernel's samples (package perfengine)
//	 └────► reports ──► handover.Outbox ──► aggregator
//
// Package schedule decides about ticks, budget, quota, subsets and gaps, backoff about sleepers that are not observed,
// and skid about the CPU on which the tracer sleeps.
//
// # Invariants
//
// The tracer runs on one goroutine, on an OS thread of its own with a raised priority. It allocates nothing in a steady
// state, and finishes stops in every wait ([stops]). With a real-time priority it walks no path of /proc ([pathWalks]).
package tracer
