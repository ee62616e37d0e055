// SPDX-License-Identifier: Apache-2.0

// Package handover is the protocol between a producer of events ([Producer]: the tracer) and the aggregator (package
// aggregator).
//
// Messages go one way, as events in batches ([Event], [BatchQueue]); a producer does not wait for an answer. From then
// on the data of an event belongs to the aggregator, except [SharedProcess] and [SharedThread], which both sides hold.
// Each of their fields names its writer.
//
// Single values flow back, readable at any time:
//   - what the next samples of a thread copy ([observe.CopyHints]),
//   - and those of a process after an exec ([SharedProcess.TakeOtherMemory], [SharedProcess.Plans]);
//   - what kernel samples of a process lack ([SharedProcess.SampleLack]);
//   - the bytes of copies in use ([observe.Pool]);
//   - whether a checkpoint is being written, and the duration of the last one ([Requests]);
//   - whether the collector is to run (package selfruntime).
package handover
