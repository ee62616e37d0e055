// SPDX-License-Identifier: Apache-2.0

// Package target has one object of a process, and one of a thread, from discovery to the last interval, and the events
// about them.
//
// # Ownership
//
// A process and a thread have fields of the tracer and its engine (engine.go), and of the aggregator. Each group names
// its writer.
//
// Events go one way, in batches ([BatchQueue]). They are those of package attribute, and raw samples, of which a walk
// makes events of that package. The data of an event then belongs to the aggregator.
//
// Single values flow back ([Process], [Thread], [Common]), readable at any time, such as:
//   - what the next samples of a thread copy ([observe.WalkFeedback]), and those of a process after an exec
//     ([Process.UpdateOtherMemory], [Process.Plans]);
//   - what kernel samples of a process lack ([Process.SampleLack]);
//   - the bytes of copies in use ([observe.Pool]);
//   - the state and duration of checkpoints and refreshes ([Requests]);
//   - whether the collector is to run (package selfruntime).
package target
