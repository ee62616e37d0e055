// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"

	"prywalk/internal/runstats"
)

// Engine observes threads and reports them as events. What follows an event does not know which engine it came from.
//
// An engine sends batches to [Common.Ring]:
//
//   - ProcessBegan is the first event of a process, and ProcessEnded the last; ThreadEnded is the last one of a thread,
//     before that of its process. An engine numbers both ([Process.ID], [Thread.ID]), from 1.
//   - The events of a thread are in the order of time. Looked has a shot out of [Common.Pool] with registers, a copy of
//     the stack and the thread's clocks, all of one moment.
//   - It never waits for the accountant while a thread is stopped: where [Ring.Room] reports false, it observes less.
//
// The tracer (package tracer) is the engine of all recordings; a toy is in internal/sampler/toyengine_test.go.
type Engine interface {
	// Run observes until ctx ends or there is nothing left to observe, and closes the ring. It calls stop if it breaks
	// down.
	Run(ctx context.Context, stop func())
	// Stats fills in what the engine did. It is called once, after Run, or while Run hangs.
	Stats(*runstats.Stats)
}
