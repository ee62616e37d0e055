// SPDX-License-Identifier: Apache-2.0

// Package handover is the protocol between a producer of events ([Producer]: the tracer) and the aggregator.
//
// Events go one way, in batches ([BatchQueue]). The data of an event then belongs to the aggregator, except
// [SharedProcess] and [SharedThread], which both sides hold. Each of their fields names its writer.
//
// Single values flow back ([SharedProcess], [SharedThread], [Common]), readable at any time, such as:
//   - what the next samples of a thread copy ([observe.CopyHints]), and those of a process after an exec
//     ([SharedProcess.TakeOtherMemory], [SharedProcess.Plans]);
//   - what kernel samples of a process lack ([SharedProcess.SampleLack]);
//   - the bytes of copies in use ([observe.Pool]);
//   - the state and duration of checkpoints and refreshes ([Requests]);
//   - whether the collector is to run (package selfruntime).
package handover
