// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	"prywalk/internal/runstats"
)

// Producer observes threads and reports them as events. It sends batches to [Common.Queue]:
//   - ProcessStarted is the first event of a process, ProcessEnded the last but those of its children; a process that
//     ended before it was tracked has only the latter. ThreadEnded is the last of a thread, before that of its process.
//     The producer numbers both ([Process.ID], [Thread.ID]), from 1.
//   - The events of a thread are in order of time. A sample has a raw sample from [Common.Pool]: registers, a copy of
//     the stack and the thread's clocks, all of one moment.
//   - It never waits for the aggregator while a thread is stopped: without [BatchQueue.HasRoom] it observes less.
//
// internal/sampler/toyengine_test.go has a toy.
type Producer interface {
	// Run observes until ctx ends or nothing is left, and closes the queue. After a failure it calls stop.
	Run(ctx context.Context, stop func())
	// Stats adds the producer's counts. It is called once, after Run or while Run hangs.
	Stats(*runstats.Stats)
}
